"""Statistics over many verdicts: what is planted among chance failures is named, and nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.taxonomy import Outcome
from dashboard.building.fleet import fleet_context
from dashboard.contexts.fleet import FleetFilters, OffenderKind, Trend
from dashboard.fleet.chance import at_least, binomial_at_least, poisson_interval, truncated_rate
from dashboard.fleet.cohorts import job_cohorts
from dashboard.fleet.neighbours import place_of
from dashboard.fleet.offenders import repeat_offenders
from dashboard.reading import FleetRow
from dashboard.site import Site
from dashboard_kit import Failure
from service_kit import START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboard_kit import Shelf

DAY = 86_400
WINDOW = 30 * DAY
SYMPTOMS = ("XID-79-GPU_HAS_FALLEN_OFF_THE_BUS", "PCIe fatal error (AER)", "Node failed (Slurm)", "NIC port down")
COHORT_NODES = ("node-0701", "node-0702", "node-0703")
OFFENDER = "node-0042"


def row(number: int, node: str, when: float, **values: object) -> FleetRow:
    fields: dict[str, object] = {
        "cluster": "c1",
        "job_id": str(number),
        "attempt": 0,
        "at": int(when),
        "sub_domain": "hardware",
        "symptom": SYMPTOMS[0],
        "node": node,
        "bad_nodes": [node],
        "bad_nodes_total": 1,
        **values,
    }
    return FleetRow(**fields)  # type: ignore[arg-type]  # a test's own values


def planted(seed: int) -> list[FleetRow]:
    """500 verdicts of 30 days: one cohort (12 jobs, 3 neighbours, 40 minutes), one node that fails 9 times, chance."""
    dice = random.Random(seed)  # noqa: S311 -- a test's dice
    rows = list(chance(dice, 479))
    start = dice.uniform(START - WINDOW + DAY, START - DAY)
    for number in range(12):
        when = start + (number / 11) * 40 * 60
        rows.append(row(1_000 + number, COHORT_NODES[number % 3], when, symptom="Leaf switch lost power"))
    offences = [START - WINDOW * (number + dice.uniform(0.1, 0.9)) / 9 for number in range(9)]
    rows += [row(2_000 + number, OFFENDER, when, symptom=SYMPTOMS[1]) for number, when in enumerate(offences)]
    dice.shuffle(rows)
    return rows


def chance(dice: random.Random, count: int) -> Iterator[FleetRow]:
    """Failures anywhere in 600 nodes at any time; a third are the application's."""
    for number in range(count):
        node = f"node-{dice.randrange(600):04d}"
        when = dice.uniform(START - WINDOW, START)
        if dice.random() < 1 / 3:
            yield row(number, node, when, sub_domain="application", bad_nodes=[], bad_nodes_total=0, symptom="OOM")
        else:
            yield row(number, node, when, symptom=dice.choice(SYMPTOMS))


@pytest.mark.parametrize("seed", range(60))
def test_one_cohort_and_one_offender_are_named_and_nothing_else(seed: int) -> None:
    rows = planted(seed)
    assert len(rows) == 500
    offenders, cohorts = repeat_offenders(rows), job_cohorts(rows, WINDOW)
    assert [(found.part.kind, found.part.name) for found in offenders] == [(OffenderKind.NODE, OFFENDER)]
    assert [(found.nodes, len(found.rows)) for found in cohorts] == [(COHORT_NODES, 12)]


def test_chance_alone_names_nobody() -> None:
    named = []
    for seed in range(200):
        rows = list(chance(random.Random(seed), 500))  # noqa: S311 -- a test's dice
        named += [found.part.name for found in repeat_offenders(rows)]
        named += [found.symptom for found in job_cohorts(rows, WINDOW)]
    assert len(named) <= 2  # 1 in 1,000 of 200 for offenders, 1 in 100 at most for cohorts


def test_the_page_names_them_from_a_database(sqlite: Shelf) -> None:
    failures = [
        Failure(
            found.job_id,
            at=found.at,
            bad=tuple(found.bad_nodes),
            symptom=found.symptom or "",
            outcome=Outcome.NODE_DOWN if found.bad_nodes else Outcome.GPU_OUT_OF_MEMORY,
        )
        for found in planted(7)
    ]
    sqlite.fill(failures)
    page = fleet_context(Site(sqlite.reader, lambda: START), FleetFilters(cluster="c1"))
    assert (page.verdicts, page.failures) == (500, 500)
    assert [(found.kind, found.name) for found in page.offenders] == [(OffenderKind.NODE, OFFENDER)]
    (cohort,) = page.cohorts
    assert (cohort.nodes, cohort.jobs_total, cohort.minutes) == (COHORT_NODES, 12, 40.0)
    assert cohort.node_list == "node-[0701-0703]"
    assert "look at what they share" in cohort.sentence
    (offender,) = page.offenders
    assert (offender.failures, offender.episodes, offender.trend) == (9, 9, Trend.STEADY)
    assert sum(point.failures for point in offender.points) == 9
    assert {weight.sub_domain.value: weight.failures for weight in page.sub_domains}["hardware"] > 300
    assert sum(weight.share for weight in page.sub_domains) == pytest.approx(1, abs=0.001)
    assert page.mean_times[0].cluster == ""
    assert page.mean_times[0].low < page.mean_times[0].hours < page.mean_times[0].high  # type: ignore[operator]  # there are some


def test_a_partitioned_store_asks_for_a_cluster(dynamodb: Shelf) -> None:
    dynamodb.fill([Failure("1", bad=("n1",))])
    site = Site(dynamodb.reader, lambda: START + 1)
    page = fleet_context(site, FleetFilters())
    assert (page.refused, page.verdicts, page.clusters) == (True, 0, ("c1",))
    assert "choose a cluster" in page.notices[0].text
    assert fleet_context(site, FleetFilters(cluster="c1")).verdicts == 1


def background(count: int = 200) -> list[FleetRow]:
    return [row(number, f"node-{number * 2:04d}", START - number * 7_200) for number in range(count)]


def test_one_bad_hour_is_no_repeated_offence() -> None:
    burst = [row(900 + number, "node-0001", START - 600 * number) for number in range(12)]
    assert repeat_offenders(background() + burst) == []


def test_a_device_stands_in_place_of_its_node() -> None:
    rows = [row(900 + number, "node-0001", START - DAY * number, device="0000:4b:00") for number in range(8)]
    (found,) = repeat_offenders(background() + rows)
    assert (found.part.kind, found.part.name) == (OffenderKind.DEVICE, "node-0001 0000:4b:00")
    others = [row(950 + number, "node-0001", START - DAY * number - 9_000, device=f"d{number}") for number in range(8)]
    (found,) = repeat_offenders(background() + rows + others)
    assert (found.part.kind, found.part.name) == (OffenderKind.NODE, "node-0001")


def test_pairs_and_switches_are_named_too() -> None:
    quiet = {"bad_nodes": [], "bad_nodes_total": 0, "sub_domain": "ambiguous"}
    rows = [
        row(number, "", START - DAY * number, peers=[f"a{number} b{number}"], switch="", **quiet)
        for number in range(20)
    ]
    rows += [
        row(100 + number, "", START - DAY * number, peers=["x y"], switch="leaf-7", **quiet) for number in range(9)
    ]
    rows += [
        row(200 + number, "", START - DAY * number, switch=f"leaf-{100 + number}", **quiet) for number in range(20)
    ]
    found = {(offender.part.kind, offender.part.name) for offender in repeat_offenders(rows)}
    assert found == {(OffenderKind.PAIR, "x ↔ y"), (OffenderKind.SWITCH, "leaf-7")}


def test_a_verdict_that_blames_everybody_blames_nobody() -> None:
    crowd = [f"node-{number:04d}" for number in range(20)]
    rows = [row(number, crowd[0], START - DAY * number, bad_nodes=crowd, bad_nodes_total=4_000) for number in range(9)]
    assert repeat_offenders(rows + background()) == []
    assert job_cohorts(rows, WINDOW) == []


def test_neighbours_of_another_symptom_or_hour_are_no_cohort() -> None:
    apart = [row(number, f"node-{number:04d}", START - number * 5_000) for number in range(5)]
    mixed = [row(number, f"node-{number:04d}", START - number, symptom=f"symptom {number}") for number in range(5)]
    distant = [row(number, f"node-{number * 5:04d}", START - number) for number in range(5)]
    alone = [row(number, "node-0001", START - number) for number in range(5)]
    for rows in (apart, mixed, distant, alone):
        assert job_cohorts(rows, WINDOW) == []


@pytest.mark.parametrize(
    ("late", "early", "trend"), [(8, 1, Trend.RISING), (1, 8, Trend.FALLING), (5, 4, Trend.STEADY)], ids=str
)
def test_a_trend_is_what_chance_would_not_make(sqlite: Shelf, late: int, early: int, trend: Trend) -> None:
    times = [START - DAY * (1 + number) for number in range(late)] + [
        START - DAY * (20 + number) for number in range(early)
    ]
    sqlite.fill(Failure(str(number), at=at, bad=("n1",)) for number, at in enumerate(times))
    sqlite.fill(Failure(f"o{number}", at=START - 7_200 * number, bad=(f"m{2 * number}",)) for number in range(60))
    (offender,) = fleet_context(Site(sqlite.reader, lambda: START), FleetFilters()).offenders
    assert offender.trend is trend


@pytest.mark.parametrize(
    ("node", "row_of", "number"),
    [
        ("gpu-a12-003.cluster.local", ("gpu-a12-", ".cluster.local"), 3),
        ("node7", ("node", ""), 7),
        ("login", ("login", ""), 0),
        ("ip-10-0-0-5", ("ip-10-0-0-", ""), 5),
        ("r1n02b", ("r1n", "b"), 2),
    ],
)
def test_names_are_taken_apart_at_their_last_number(node: str, row_of: tuple[str, str], number: int) -> None:
    assert place_of(node) == (row_of, number)


@given(st.text(max_size=80))
def test_any_name_has_a_place(node: str) -> None:
    assert place_of(node).number >= 0


def test_distributions_agree_with_tables() -> None:
    assert at_least(3, 1.0) == pytest.approx(0.0803, abs=1e-4)
    assert at_least(20, 1.0) == pytest.approx(1.59e-19, rel=0.01)
    assert at_least(1, 0.5, given=1) == 1.0
    assert at_least(2, 0.5, given=1) == pytest.approx(0.2293, abs=1e-4)
    assert truncated_rate(1.5819767) == pytest.approx(1.0, abs=1e-6)
    assert binomial_at_least(8, 9) == pytest.approx(10 / 512)
    for count, low, high in ((0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39), (100, 81.36, 121.6)):
        assert poisson_interval(count) == pytest.approx((low, high), rel=0.01, abs=0.03)
