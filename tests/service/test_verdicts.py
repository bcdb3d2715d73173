"""Stored verdicts: the latest run, listings, nodes, history, judgements, tenancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.taxonomy import Outcome, SubDomain
from attribution_lib.verdict import Verdict
from attribution_service.attribute import attribute
from attribution_service.enrichment import EnrichRequest, enriched_verdict
from attribution_service.errors import ForbiddenError, InvalidRequestError, NotFoundError
from attribution_service.model import FeedbackJudgement, FeedbackRequest, VerdictKey, VerdictQuery
from attribution_service.result import EnrichedVerdict, enrich_attribution_result
from attribution_service.service import EVERYTHING, Caller
from attribution_service.times import rfc3339
from attribution_service.verdicts import (
    add_feedback,
    get_verdict,
    list_feedback,
    node_history,
    query_verdicts,
    write_verdict,
)
from service_kit import START, World, moto_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.engine import RuleEngine

OURS = Caller(frozenset({"alpha"}))
DAY = 86_400


@pytest.fixture(params=["local", "aws"])
def both(request: pytest.FixtureRequest, engine: RuleEngine) -> Iterator[World]:
    """The service over each back end."""
    if request.param == "local":
        yield request.getfixturevalue("world")
        return
    with moto_store() as store:
        yield World(store, engine)


def enriched(
    world: World, *lines: str, run: str = "r1", at: float | None = None, node: str = "n1", **job: Any
) -> EnrichedVerdict:
    """A verdict as a workflow would have it: of a session that lived as long as this call."""
    name = world.open(f"{job.get('job_id', '4711')}-{run}-{len(lines)}-{world.now}", **job)
    for line in lines:
        world.send(line, session=name, node=node, source="syslog")
    raw = Verdict.model_validate_json(attribute(world.service, EVERYTHING, name).verdict)
    return enrich_attribution_result(
        raw,
        attributor_id=name,
        run_id=run,
        attributed_at=None if at is None else rfc3339(at),
    )


def test_a_verdict_is_read_as_it_was_written(both: World) -> None:
    verdict = enriched(both, "PART BROKE", at=START)
    receipt = write_verdict(both.service, EVERYTHING, verdict)
    assert (receipt.cluster, receipt.job_id, receipt.attempt, receipt.counted_nodes) == ("default", "4711", 0, 1)
    assert get_verdict(both.service, EVERYTHING, VerdictKey(cluster="default", job_id="4711")) == verdict


def test_the_same_run_overwrites_itself_and_counts_once(both: World) -> None:
    verdict = enriched(both, "PART BROKE", at=START)
    write_verdict(both.service, EVERYTHING, verdict)
    assert write_verdict(both.service, EVERYTHING, verdict).counted_nodes == 0
    assert len(query_verdicts(both.service, EVERYTHING, VerdictQuery(day="2026-05-28")).verdicts) == 1
    assert node_history(both.service, EVERYTHING, "default", ["n1"]) == {"n1": 1}


def test_the_latest_run_of_the_latest_attempt_is_the_one(both: World) -> None:
    for attempt, run, at in ((0, "r1", 0), (1, "r2", 20), (1, "r3", 10)):
        write_verdict(both.service, EVERYTHING, enriched(both, run=run, at=START + at, attempt=attempt))
    key = VerdictKey(cluster="default", job_id="4711")
    assert get_verdict(both.service, EVERYTHING, key).run_id == "r2"
    for attempt, run in ((0, "r1"), (1, "r2")):
        found = get_verdict(both.service, EVERYTHING, key.model_copy(update={"attempt": attempt}))
        assert found.run_id == run
    older = key.model_copy(update={"attempt": 1, "run_id": "r3"})
    assert get_verdict(both.service, EVERYTHING, older).run_id == "r3"
    listed = query_verdicts(both.service, EVERYTHING, VerdictQuery()).verdicts
    assert [(head.attempt, head.run_id) for head in listed] == [(1, "r2"), (0, "r1")]


def test_a_later_run_that_blames_another_node_takes_the_first_one_out(both: World) -> None:
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r1", at=START, node="n1"))
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r2", at=START + 5, node="n2"))
    found = {
        node: [head.run_id for head in query_verdicts(both.service, EVERYTHING, VerdictQuery(node=node)).verdicts]
        for node in ("n1", "n2")
    }
    assert found == {"n1": [], "n2": ["r2"]}


def test_an_earlier_run_that_comes_late_changes_no_listing(both: World) -> None:
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r2", at=START + 5, node="n2"))
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r1", at=START, node="n1"))
    assert query_verdicts(both.service, EVERYTHING, VerdictQuery(node="n1")).verdicts == []
    heads = query_verdicts(both.service, EVERYTHING, VerdictQuery(day="2026-05-28")).verdicts
    assert [head.run_id for head in heads] == ["r2"]


def test_verdicts_are_listed_newest_first_page_by_page(both: World) -> None:
    both.now = START + DAY + 100
    for number in range(5):
        at = START + number * DAY // 3
        write_verdict(both.service, EVERYTHING, enriched(both, job_id=str(number), at=at))
    found: list[str] = []
    cursor = None
    for _ in range(6):
        page = query_verdicts(both.service, EVERYTHING, VerdictQuery(cursor=cursor, limit=2))
        found += [head.job_id for head in page.verdicts]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == ["3", "2", "1", "0"]  # the fifth is of tomorrow


def test_listings_are_narrowed_by_day_node_sub_domain_and_outcome(both: World) -> None:
    for job_id, line, node in (("1", "PART BROKE", "n1"), ("2", "CODE RAISED", "n1"), ("3", "DRIVER HUNG", "n2")):
        write_verdict(both.service, EVERYTHING, enriched(both, line, job_id=job_id, node=node, at=START))

    def jobs(**query: Any) -> list[str]:
        return sorted(head.job_id for head in query_verdicts(both.service, EVERYTHING, VerdictQuery(**query)).verdicts)

    assert jobs(sub_domain=SubDomain.HARDWARE) == ["1"]
    assert jobs(outcome=Outcome.APPLICATION_ERROR) == ["2"]
    assert jobs(outcome=Outcome.APPLICATION_ERROR, sub_domain=SubDomain.HARDWARE) == []
    assert jobs(node="n1") == ["1"]
    assert jobs(node="n2", day="2026-05-28") == ["3"]
    assert jobs(node="n2", day="2026-05-27") == []
    assert jobs(day="2026-05-28") == ["1", "2", "3"]
    assert jobs(cluster="elsewhere") == []


def test_a_head_shows_what_a_list_needs(both: World) -> None:
    verdict = enriched(both, "PART BROKE", at=START, name="train", user="ada")
    write_verdict(both.service, EVERYTHING, verdict)
    (head,) = query_verdicts(both.service, EVERYTHING, VerdictQuery()).verdicts
    assert (head.job_name, head.user, head.symptom, head.node) == ("train", "ada", "Part broke", "n1")
    assert (head.bad_nodes, head.bad_nodes_total, head.evidence) == (["n1"], 1, "PART BROKE")
    assert head.attributed_at == head.stored_at == "2026-05-28T20:26:40.000000Z"


@pytest.mark.parametrize("day", ["2026-13-01", "2026-02-30"])
def test_a_day_that_is_none_is_refused(world: World, day: str) -> None:
    with pytest.raises(InvalidRequestError):
        query_verdicts(world.service, EVERYTHING, VerdictQuery(day=day))


def test_a_verdict_too_long_for_an_item_keeps_its_head_there(both: World) -> None:
    verdict = enriched(both, "PART BROKE", at=START)
    long = verdict.model_copy(update={"collections": {"big": ["é" * 1000] * 900}})
    write_verdict(both.service, EVERYTHING, long)
    assert both.listed("verdicts/") == ["verdicts/default/4711/0/r1.json"]
    assert get_verdict(both.service, EVERYTHING, VerdictKey(cluster="default", job_id="4711")) == long
    assert [head.symptom for head in query_verdicts(both.service, EVERYTHING, VerdictQuery()).verdicts] == [
        "Part broke"
    ]


def test_history_counts_failures_of_thirty_days(both: World) -> None:
    for number, days in enumerate((0, 10, 29, 31, 70)):
        verdict = enriched(both, "PART BROKE", job_id=str(number), at=START - days * DAY)
        write_verdict(both.service, EVERYTHING, verdict)
    assert node_history(both.service, EVERYTHING, "default", ["n1", "n2", "no/node"]) == {"n1": 3, "n2": 0}


def test_a_failure_attributed_twice_counts_once(both: World) -> None:
    for run, at in (("r1", START), ("r2", START + 5 * DAY)):
        verdict = enriched(both, "PART BROKE", run=run, at=at, end="2026-05-28T20:00:00Z")
        write_verdict(both.service, EVERYTHING, verdict)
    assert node_history(both.service, EVERYTHING, "default", ["n1"]) == {"n1": 1}


def test_a_judgement_is_kept_with_the_run_it_is_about(both: World) -> None:
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r1", at=START))
    write_verdict(both.service, EVERYTHING, enriched(both, "PART BROKE", run="r2", at=START + 1))
    key = VerdictKey(cluster="default", job_id="4711", attempt=0)
    request = FeedbackRequest(judgement=FeedbackJudgement.WRONG, outcome=Outcome.NVLINK, comment="cable", author="ada")
    first = add_feedback(both.service, EVERYTHING, key, request)
    both.now += 1
    second = add_feedback(
        both.service, EVERYTHING, key, FeedbackRequest(judgement=FeedbackJudgement.RIGHT, run_id="r1")
    )
    assert (first.run_id, second.run_id) == ("r2", "r1")
    assert list_feedback(both.service, EVERYTHING, key) == [first, second]


@pytest.mark.parametrize("length", [4000, 4001])
def test_a_comment_is_bounded(world: World, length: int) -> None:
    write_verdict(world.service, EVERYTHING, enriched(world, "PART BROKE", at=START))
    key = VerdictKey(cluster="default", job_id="4711", attempt=0)
    request = FeedbackRequest(judgement=FeedbackJudgement.RIGHT, comment="x" * length)
    if length == 4000:
        assert add_feedback(world.service, EVERYTHING, key, request).comment
    else:
        with pytest.raises(InvalidRequestError):
            add_feedback(world.service, EVERYTHING, key, request)


def test_there_is_no_verdict_on_an_unknown_job(both: World) -> None:
    write_verdict(both.service, EVERYTHING, enriched(both, at=START))
    for key in (
        VerdictKey(cluster="default", job_id="1"),
        VerdictKey(cluster="default", job_id="4711", attempt=7),
        VerdictKey(cluster="default", job_id="4711", run_id="other"),
    ):
        with pytest.raises(NotFoundError):
            get_verdict(both.service, EVERYTHING, key)
        with pytest.raises(NotFoundError):
            add_feedback(both.service, EVERYTHING, key, FeedbackRequest(judgement=FeedbackJudgement.RIGHT))


@pytest.mark.parametrize(
    ("change", "field"),
    [({"run_id": "../x"}, "run_id"), ({"attributed_at": "now"}, "attributed_at"), ({"job": {}}, "job.cluster")],
)
def test_a_verdict_without_a_proper_key_is_refused(world: World, change: dict[str, Any], field: str) -> None:
    verdict = enriched(world, at=START).model_copy(update=change)
    with pytest.raises(InvalidRequestError) as caught:
        write_verdict(world.service, EVERYTHING, verdict)
    assert caught.value.extras["faults"][0]["field"] == field


def test_a_caller_sees_its_own_clusters_only(world: World) -> None:
    for cluster in ("alpha", "beta"):
        write_verdict(
            world.service, EVERYTHING, enriched(world, "PART BROKE", cluster=cluster, job_id=cluster, at=START)
        )
    beta = VerdictKey(cluster="beta", job_id="beta", attempt=0)
    assert [head.cluster for head in query_verdicts(world.service, OURS, VerdictQuery()).verdicts] == ["alpha"]
    assert [head.cluster for head in query_verdicts(world.service, OURS, VerdictQuery(node="n1")).verdicts] == ["alpha"]
    with pytest.raises(ForbiddenError):
        query_verdicts(world.service, OURS, VerdictQuery(cluster="beta"))
    with pytest.raises(ForbiddenError):
        write_verdict(world.service, OURS, enriched(world, cluster="beta", job_id="x", at=START))
    with pytest.raises(ForbiddenError):
        node_history(world.service, OURS, "beta", ["n1"])
    for action in (get_verdict, list_feedback):
        with pytest.raises(NotFoundError):
            action(world.service, OURS, beta)
    with pytest.raises(NotFoundError):
        add_feedback(world.service, OURS, beta, FeedbackRequest(judgement=FeedbackJudgement.RIGHT))


def test_a_run_that_is_not_there_is_told_with_those_that_are(world: World) -> None:
    world.open(cluster="alpha")
    request = EnrichRequest(attributor_id="s", run_id="monday")
    write_verdict(world.service, EVERYTHING, enriched_verdict(world.service, EVERYTHING, request))
    with pytest.raises(NotFoundError, match="no verdict of run sunday on this job; there is one of monday"):
        get_verdict(world.service, EVERYTHING, VerdictKey(cluster="alpha", job_id="4711", attempt=0, run_id="sunday"))
