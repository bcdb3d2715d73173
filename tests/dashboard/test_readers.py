"""One contract for every store that the dashboard reads; then what only some of them can do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import Outcome, SubDomain
from attribution_service.errors import ForbiddenError, InvalidRequestError, NotFoundError, StoreError
from attribution_service.model import FeedbackJudgement, FeedbackRequest, VerdictKey
from attribution_service.service import Caller
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdict_migrations import MIGRATIONS
from dashboard.readers.sqlite import SqliteReader
from dashboard.reading import FeedbackQuery, FleetQuery, RunsQuery
from dashboard_kit import Failure
from service_kit import START

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard.reading import VerdictReader
    from dashboard_kit import Shelf

DAY = 86_400
MIDNIGHT = START - START % DAY
TODAY = RunsQuery(cluster="c1", since=MIDNIGHT, until=MIDNIGHT + DAY)


def ids(reader: VerdictReader, **query: object) -> list[str]:
    """Job ids of the first page of today's verdicts of c1 that a narrower query passes."""
    fields = {"cluster": "c1", "since": MIDNIGHT, "until": MIDNIGHT + DAY, **query}
    return [head.job_id for head in reader.heads(RunsQuery(**fields)).heads]  # type: ignore[arg-type]  # a test's own words


def test_the_newest_verdict_of_each_attempt_is_listed_once(shelf: Shelf) -> None:
    shelf.fill(
        [
            Failure("1", at=START - 30, run_id="b", bad=("n1",)),
            Failure("1", at=START - 60, run_id="a"),
            Failure("1", at=START - 10, attempt=1),
            Failure("2", at=START - 20),
            Failure("1", at=START - 30, run_id="b", bad=("n2",)),
        ]
    )
    heads = shelf.reader.heads(TODAY).heads
    assert [(head.job_id, head.attempt, head.run_id) for head in heads] == [
        ("1", 1, "r1"),
        ("2", 0, "r1"),
        ("1", 0, "b"),
    ]
    assert heads[2].bad_nodes == ["n2"]
    assert ids(shelf.reader, node="n1") == []
    assert ids(shelf.reader, node="n2") == ["1"]


def test_pages_follow_one_another_without_gap_or_repeat(shelf: Shelf) -> None:
    shelf.fill(Failure(str(number), at=START - number * 3_600) for number in range(15))
    query = RunsQuery(cluster="c1", since=START - DAY, until=START + 1, limit=4)
    found: list[str] = []
    cursor: str | None = None
    for _ in range(9):
        page = shelf.reader.heads(RunsQuery(cluster="c1", since=query.since, until=query.until, limit=4, cursor=cursor))
        found += [head.job_id for head in page.heads]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [str(number) for number in range(15)]


def test_filters_narrow_the_listing_and_the_counts_alike(shelf: Shelf) -> None:
    shelf.fill(
        [
            Failure("hw", bad=("n1",)),
            Failure("app", outcome=Outcome.APPLICATION_ERROR),
            Failure("other", cluster="c2"),
            Failure("old", at=START - DAY),
        ]
    )
    assert ids(shelf.reader, sub_domain=SubDomain.APPLICATION) == ["app"]
    assert ids(shelf.reader, outcome=Outcome.GPU_HARDWARE) == ["hw"]
    assert ids(shelf.reader, cluster="c2") == ["other"]
    assert ids(shelf.reader, since=START - DAY, until=START) == ["old"]
    assert ids(shelf.reader, node="n1") == ["hw"]
    counted = shelf.reader.buckets(RunsQuery(cluster="c1", since=MIDNIGHT, until=MIDNIGHT + DAY))
    assert counted.complete
    assert {(row.sub_domain, row.count) for row in counted.rows} == {
        (SubDomain.HARDWARE, 1),
        (SubDomain.APPLICATION, 1),
    }
    assert {row.hour for row in counted.rows} == {START - START % 3_600}
    narrowed = shelf.reader.buckets(RunsQuery(cluster="c1", since=MIDNIGHT, sub_domain=SubDomain.HARDWARE))
    assert [row.count for row in narrowed.rows] == [1]


def test_a_head_says_what_statistics_need(shelf: Shelf) -> None:
    failure = Failure(
        "1", nodes=("a", "b"), bad=("a",), device="0000:4b:00", labels=(("gpus", "16"),), pairs=(("b", "a"),)
    )
    shelf.fill([failure])
    (head,) = shelf.reader.heads(TODAY).heads
    found = (head.rule, head.device, head.peers, head.nodes, head.gpus, head.node, head.bad_nodes_total)
    assert found == ("XID", "0000:4b:00", ["a b"], 2, 16, "a", 1)
    assert "XID" in head.rules
    (row,) = shelf.reader.fleet(FleetQuery(cluster="c1", since=START - 10, until=START + 10))
    assert (row.job_id, row.device, row.peers, row.bad_nodes, row.hours, row.when) == (
        "1",
        "0000:4b:00",
        ["a b"],
        ["a"],
        2.0,
        START,
    )


def test_statistics_read_the_window_and_nothing_else(shelf: Shelf) -> None:
    shelf.fill(
        [Failure("1", at=START - 3 * DAY), Failure("2"), Failure("3", cluster="c2"), Failure("4", at=START + DAY)]
    )
    rows = shelf.reader.fleet(FleetQuery(cluster="c1", since=START - DAY, until=START + DAY))
    assert {row.job_id for row in rows} == {"2"}


def test_a_verdict_is_read_back_whole(shelf: Shelf) -> None:
    early, late = Failure("1", at=START - 9, run_id="a").verdict(), Failure("1", run_id="b", bad=("n1",)).verdict()
    shelf.put(late)
    shelf.put(early)
    assert shelf.reader.verdict(VerdictKey(cluster="c1", job_id="1")) == late
    assert shelf.reader.verdict(VerdictKey(cluster="c1", job_id="1", attempt=0, run_id="a")) == early
    runs = shelf.reader.runs(VerdictKey(cluster="c1", job_id="1"))
    assert [(head.run_id, head.symptom, head.rule, head.bad_nodes) for head in runs] == [
        ("b", "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS", "XID", ["n1"]),
        ("a", "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS", "XID", []),
    ]


@pytest.mark.parametrize("key", [{"job_id": "2"}, {"job_id": "1", "attempt": 3}, {"job_id": "1", "run_id": "r"}])
def test_what_is_not_there_is_not_found(shelf: Shelf, key: dict[str, object]) -> None:
    shelf.fill([Failure("1")])
    wanted = VerdictKey.model_validate({"cluster": "c1", **key})
    with pytest.raises(NotFoundError):
        shelf.reader.verdict(wanted)
    with pytest.raises(NotFoundError):
        shelf.reader.add_feedback(wanted, FeedbackRequest(judgement=FeedbackJudgement.RIGHT))


def test_rules_are_counted_by_what_they_decided_and_what_they_saw(shelf: Shelf) -> None:
    shelf.fill([Failure("1"), Failure("2", rule="Other"), Failure("3", rule="Other", cluster="c2")])
    hits = shelf.reader.rule_hits()
    assert (hits.by_rule["XID"].decided, hits.by_rule["Other"].decided) == (1, 2)
    assert hits.by_rule["XID"].seen == 3
    assert hits.complete
    assert {head.job_id for head in shelf.reader.heads(RunsQuery(rule="Other")).heads} == {"2", "3"}


def test_judgements_are_kept_with_the_rule_that_decided(shelf: Shelf) -> None:
    shelf.fill([Failure("1"), Failure("2", rule="Other", cluster="c2")])
    said = FeedbackRequest(
        judgement=FeedbackJudgement.WRONG, outcome=Outcome.PCIE, node="n2", comment="riser", author="x"
    )
    given = shelf.reader.add_feedback(VerdictKey(cluster="c1", job_id="1"), said)
    shelf.now[0] += 60
    shelf.reader.add_feedback(VerdictKey(cluster="c2", job_id="2"), FeedbackRequest(judgement=FeedbackJudgement.RIGHT))
    everything = shelf.reader.feedback(FeedbackQuery())
    assert [(entry.job_id, rule) for entry, rule in everything] == [("2", "Other"), ("1", "XID")]
    assert everything[1][0] == given
    assert (given.run_id, given.comment) == ("r1", "riser")
    assert shelf.reader.feedback(FeedbackQuery(cluster="c1", job_id="1", attempt=0)) == [(given, "XID")]
    assert [entry.job_id for entry, _ in shelf.reader.feedback(FeedbackQuery(rule="Other"))] == ["2"]
    assert shelf.reader.feedback(FeedbackQuery(cluster="c1", job_id="1", attempt=1)) == []


def test_a_judgement_too_long_is_refused(shelf: Shelf) -> None:
    shelf.fill([Failure("1")])
    request = FeedbackRequest(judgement=FeedbackJudgement.WRONG, comment="x" * 4_001)
    with pytest.raises(InvalidRequestError, match="judgement is not valid"):
        shelf.reader.add_feedback(VerdictKey(cluster="c1", job_id="1"), request)


def test_foreign_clusters_do_not_exist(shelf: Shelf) -> None:
    shelf.fill([Failure("1"), Failure("2", cluster="c2", rule="Other")])
    shelf.reader.add_feedback(VerdictKey(cluster="c2", job_id="2"), FeedbackRequest(judgement=FeedbackJudgement.RIGHT))
    ours = shelf.reader_of(Caller(frozenset({"c1"})))
    assert (list(shelf.reader.clusters()), list(ours.clusters())) == (["c1", "c2"], ["c1"])
    assert "Other" not in ours.rule_hits().by_rule
    assert ours.feedback(FeedbackQuery()) == []
    assert [head.job_id for head in ours.heads(RunsQuery(rule="Other")).heads] == []
    with pytest.raises(NotFoundError):
        ours.verdict(VerdictKey(cluster="c2", job_id="2"))
    for ask in (
        lambda: ours.heads(RunsQuery(cluster="c2", since=MIDNIGHT)),
        lambda: ours.buckets(RunsQuery(cluster="c2", since=MIDNIGHT)),
        lambda: list(ours.fleet(FleetQuery(cluster="c2", since=MIDNIGHT, until=START))),
        lambda: ours.feedback(FeedbackQuery(cluster="c2")),
    ):
        with pytest.raises(ForbiddenError):
            ask()


def test_a_cursor_of_somewhere_else_is_refused(shelf: Shelf) -> None:
    shelf.fill([Failure("1")])
    with pytest.raises(InvalidRequestError, match="cursor"):
        shelf.reader.heads(RunsQuery(cluster="c1", since=MIDNIGHT, cursor="bm9uc2Vuc2U"))


@pytest.mark.parametrize("query", [{}, {"cluster": "c1"}, {"since": START}])
def test_tables_ask_for_a_cluster_and_a_day_or_a_node(dynamodb: Shelf, query: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError, match="cannot answer this") as refusal:
        dynamodb.reader.heads(RunsQuery(**query))  # type: ignore[arg-type]  # a test's own words
    (fault,) = refusal.value.extras["faults"]
    assert fault["expected"] == "a cluster and a day, or a node"
    assert dynamodb.reader.heads(RunsQuery(node="n1")).heads == []


def test_tables_look_on_where_many_days_hold_nothing(dynamodb: Shelf) -> None:
    dynamodb.fill([Failure("old", at=START - 88 * DAY), Failure("new", outcome=Outcome.APPLICATION_ERROR)])
    wanted = RunsQuery(cluster="c1", since=START - 90 * DAY, sub_domain=SubDomain.HARDWARE)
    page = dynamodb.reader.heads(wanted)
    assert [head.job_id for head in page.heads] == ["old"]
    assert [row.count for row in dynamodb.reader.buckets(wanted).rows] == [1]


@pytest.mark.parametrize("query", [{"user": "u"}, {"text": "words"}])
def test_tables_refuse_what_they_cannot_search(dynamodb: Shelf, query: dict[str, str]) -> None:
    with pytest.raises(InvalidRequestError, match="cannot answer this"):
        dynamodb.reader.heads(RunsQuery(cluster="c1", since=MIDNIGHT, **query))  # type: ignore[arg-type]  # texts


def test_tables_refuse_a_window_that_would_read_for_ever(dynamodb: Shelf) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        dynamodb.reader.heads(RunsQuery(cluster="c1", since=START - 400 * DAY))
    assert "401 days" in str(refusal.value.extras["faults"])


def test_a_database_finds_users_and_words(sqlite: Shelf) -> None:
    sqlite.fill(
        [
            Failure("1", user="ada", symptom="CUDA assert", evidence="RuntimeError: CUDA error: device-side assert"),
            Failure("2", user="bob", evidence='NVRM: Xid 79 "fallen off" 50% x_y', bad=("gpu-77",)),
        ]
    )
    reader = sqlite.reader
    assert ids(reader, user="ada") == ["1"]
    for text, found in (
        ("xid 79", ["2"]),
        ("fallen OFF nvrm", ["2"]),
        ('"fallen', ["2"]),
        ("vice-side", ["1"]),
        ("gpu-77", ["2"]),
        ("bob", ["2"]),
        ("0%", ["2"]),
        ("x_", ["2"]),
        ("xid AND assert", []),
        ("no such thing", []),
        ("x\0id", ["2"]),
        ("*", []),
    ):
        assert ids(reader, text=text) == found, text
    assert [row.count for row in reader.buckets(RunsQuery(text="fallen")).rows] == [1]


def test_words_that_many_verdicts_hold_find_the_newest_of_them(sqlite: Shelf) -> None:
    sqlite.fill(Failure(str(number), at=START - number, evidence=f"NVRM: code {number % 3}") for number in range(30))
    usual = sqlite.reader.heads(RunsQuery(text="nvrm code", limit=7))
    assert isinstance(sqlite.reader, SqliteReader)
    one_by_one = replace(sqlite.reader, common=10)
    common = one_by_one.heads(RunsQuery(text="nvrm code", limit=7))
    assert common == usual
    rest = one_by_one.heads(RunsQuery(text="nvrm code", limit=7, cursor=common.cursor))
    assert [head.job_id for head in rest.heads] == [str(number) for number in range(7, 14)]


def test_what_sqlite_says_is_the_stores_failure(sqlite: Shelf) -> None:
    sqlite.fill([Failure("1")])
    assert isinstance(sqlite.reader, SqliteReader)
    sqlite.reader.database.connection.execute("DROP TABLE verdict_node")
    with pytest.raises(StoreError, match="no such table: verdict_node"):
        sqlite.reader.heads(RunsQuery(node="n1"))
    assert ids(sqlite.reader) == ["1"]


def test_a_database_of_the_first_version_is_brought_up_to_date(folder: Path) -> None:
    path = folder / "old.db"
    database = VerdictDatabase.open(path)
    for failure in (Failure("1", run_id="a"), Failure("1", run_id="b", bad=("n9",)), Failure("2", user="ada")):
        database.append(failure.verdict())
    for table in ("verdict_text", "verdict_rule", "verdict_node", "verdict_head", "feedback"):
        database.connection.execute(f"DROP TABLE {table}")
    database.connection.execute("DELETE FROM schema_version WHERE version > 1")
    database.close()
    reader = SqliteReader(VerdictDatabase.open(path), lambda: START)
    assert [head.run_id for head in reader.heads(RunsQuery(node="n9")).heads] == ["b"]
    assert ids(reader, text="ada") == ["2"]
    reader.database.close()
    assert len(MIGRATIONS) == 2
