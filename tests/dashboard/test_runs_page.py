"""The page of runs: filters, counts over time, and what a store cannot answer."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.taxonomy import Outcome, SubDomain
from attribution_service.errors import InvalidRequestError
from attribution_service.model import VerdictKey
from dashboard.building.runs import runs_context, runs_query
from dashboard.building.verdict import verdict_context
from dashboard.contexts.runs import RunsFilters
from dashboard.site import Site
from dashboard_kit import Failure
from service_kit import START

if TYPE_CHECKING:
    from dashboard_kit import Shelf

DAY = 86_400
TODAY = "2026-05-28"
"""The day of ``START``."""
NOON = 1_779_969_600


def site_of(shelf: Shelf) -> Site:
    return Site(shelf.reader, lambda: START)


def test_a_page_shows_rows_total_and_counts(shelf: Shelf) -> None:
    shelf.fill(Failure(str(number), at=START - number, bad=("n1", "n2", "n3", "n4", "n5")) for number in range(3))
    shelf.fill([Failure("app", at=START - 50, outcome=Outcome.GPU_OUT_OF_MEMORY, symptom="CUDA out of memory")])
    page = runs_context(site_of(shelf), RunsFilters(cluster="c1", day=TODAY), limit=3)
    assert [row.job_id for row in page.rows] == ["0", "1", "2"]
    assert (page.total, page.first_page, page.refused) == (4, True, False)
    assert page.rows[0].headline == "GPU has fallen off the bus (Xid 79) on n1, n2, n3 and 2 more"
    rest = runs_context(site_of(shelf), RunsFilters(cluster="c1", day=TODAY), page.cursor, 3)
    assert [(row.job_id, row.headline) for row in rest.rows] == [("app", "CUDA out of memory")]
    assert (rest.cursor, rest.first_page, rest.total) == ("", False, 4)
    assert page.counts is not None
    assert dict(zip(page.counts.sub_domains, page.counts.totals, strict=True)) == {
        **dict.fromkeys(SubDomain, 0),
        SubDomain.HARDWARE: 3,
        SubDomain.APPLICATION: 1,
    }


@pytest.mark.parametrize(
    ("days", "bucket"),
    [([0, 0], "hour"), ([0, 3], "hour"), ([0, 30], "day"), ([0, 700], "week"), ([], "hour")],
    ids=str,
)
def test_bars_are_as_fine_as_there_is_room_for(sqlite: Shelf, days: list[int], bucket: str) -> None:
    sqlite.fill(Failure(str(number), at=NOON - day * DAY) for number, day in enumerate(days))
    counts = runs_context(site_of(sqlite), RunsFilters()).counts
    assert counts is not None
    assert counts.bucket == bucket
    assert len(counts.bars) <= 120
    assert sum(bar.total for bar in counts.bars) == len(days)
    assert all(bar.total == sum(bar.counts) for bar in counts.bars)
    starts = [bar.start for bar in counts.bars]
    assert starts == sorted(set(starts))
    if days == [0, 30]:
        assert (starts[0], starts[-1], len(starts)) == ("2026-04-28", TODAY, 31)


def test_years_beyond_the_bars_are_said_to_be_missing(sqlite: Shelf) -> None:
    sqlite.fill([Failure("new", at=NOON), Failure("old", at=NOON - 1_500 * DAY)])
    page = runs_context(site_of(sqlite), RunsFilters())
    assert page.counts is not None
    assert (len(page.counts.bars), page.total) == (120, 2)
    assert page.counts.note == "Older ones are not drawn."


def test_what_the_store_cannot_answer_is_said_on_the_page(dynamodb: Shelf) -> None:
    dynamodb.fill([Failure("1", bad=("n1",))])
    site = site_of(dynamodb)
    for filters in ({}, {"cluster": "c1"}, {"user": "u", "node": "n1"}, {"text": "x", "cluster": "c1", "day": TODAY}):
        page = runs_context(site, RunsFilters(**filters))
        assert (page.refused, page.rows, page.counts, page.total) == (True, (), None, None)
        assert "a cluster and a day" in page.notices[0].text
        assert page.choices.requirement
        assert page.choices.clusters == ("c1",)
    for filters in ({"cluster": "c1", "day": TODAY}, {"node": "n1"}, {"cluster": "c1", "since": "2026-05-20"}):
        page = runs_context(site, RunsFilters(**filters))
        assert (page.refused, [row.job_id for row in page.rows], page.total) == (False, ["1"], 1)


def test_a_node_of_several_clusters_is_listed_cluster_by_cluster(dynamodb: Shelf) -> None:
    dynamodb.fill([Failure("1", at=START - 60, bad=("n1",)), Failure("2", cluster="c2", bad=("n1",))])
    page = runs_context(site_of(dynamodb), RunsFilters(node="n1"))
    assert [row.cluster for row in page.rows] == ["c1", "c2"]
    assert "cluster by cluster" in page.notices[0].text
    assert runs_context(site_of(dynamodb), RunsFilters(node="n1", cluster="c1")).notices == ()


def test_a_database_answers_everything(sqlite: Shelf) -> None:
    page = runs_context(site_of(sqlite), RunsFilters())
    assert (page.refused, page.choices.requirement, page.choices.user, page.choices.text) == (False, "", True, True)


@pytest.mark.parametrize(
    ("filters", "since", "until"),
    [
        ({"day": "2026-06-01"}, 1_780_272_000, 1_780_358_400),
        ({"since": "2026-06-01", "until": "2026-06-01"}, 1_780_272_000, 1_780_358_400),
        ({"since": "2026-06-01T03:00"}, 1_780_282_800, None),
        ({"since": "2026-06-01T03:00Z"}, 1_780_282_800, None),
        ({"since": "2026-06-01T03:00:00"}, 1_780_282_800, None),
        ({"since": "2026-06-01T05:00:00+02:00"}, 1_780_282_800, None),
        ({"until": "2026-06-01T03:00:00Z"}, None, 1_780_282_800),
        ({"day": "2026-06-01", "since": "2026-06-01T03:00Z"[:16]}, 1_780_282_800, 1_780_358_400),
        ({"since": "  "}, None, None),
    ],
    ids=str,
)
def test_times_are_read_as_people_write_them(filters: dict[str, str], since: int | None, until: int | None) -> None:
    query = runs_query(RunsFilters(**filters))
    assert (query.since, query.until) == (since, until)


def test_every_filter_that_means_nothing_is_named_at_once() -> None:
    filters = RunsFilters(day="2026-13-01", since="soon", sub_domain="x", outcome="y")
    with pytest.raises(InvalidRequestError) as refusal:
        runs_query(filters)
    assert {fault["field"] for fault in refusal.value.extras["faults"]} == {"day", "since", "sub_domain", "outcome"}


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"since": "2026-06-02", "until": "2026-06-01"}, "until"),
        ({"since": "2026-06-01T03:00Z", "until": "2026-06-01T03:00Z"}, "until"),
        ({"since": "2026-06-02", "day": "2026-06-01"}, "day"),
    ],
    ids=str,
)
def test_a_window_that_holds_no_time_is_refused_and_not_shown_as_no_failures(
    filters: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        runs_query(RunsFilters(**filters))
    assert [fault["field"] for fault in refusal.value.extras["faults"]] == [named]


@given(st.fixed_dictionaries(dict.fromkeys(RunsFilters.model_fields, st.text(max_size=40))))
def test_any_filters_are_a_query_or_a_refusal(filters: dict[str, str]) -> None:
    with suppress(InvalidRequestError):
        assert runs_query(RunsFilters(**filters)).limit == 50


def test_hostile_names_pass_through_as_they_are(sqlite: Shelf) -> None:
    failure = Failure(
        "1", name="<script>", user="\u202e", symptom="</title>", evidence="javascript:\x00\x1b", bad=("<b>",)
    )
    sqlite.fill([failure])
    (row,) = runs_context(site_of(sqlite), RunsFilters(node="<b>")).rows
    assert (row.job_name, row.user, row.symptom, row.evidence) == (
        "<script>",
        "\u202e",
        "</title>",
        "javascript:\x00\x1b",
    )
    page = verdict_context(site_of(sqlite), VerdictKey(cluster="c1", job_id="1"))
    assert page.root is not None
    assert page.root.line.text == "javascript:\x00\x1b"
