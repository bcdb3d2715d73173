"""The page of the fleet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError
from attribution_service.times import SECONDS_A_DAY, rfc3339
from dashboard.building.runs import time_of
from dashboard.building.words import counted, folded, listed, short_time, symptom_words
from dashboard.contexts.fleet import (
    Cohort,
    FleetContext,
    FleetFilters,
    JobLink,
    MeanTime,
    Offender,
    SubDomainWeight,
    Trend,
    TrendPoint,
)
from dashboard.contexts.model import Notice, NoticeLevel, PageName
from dashboard.fleet.chance import binomial_at_least
from dashboard.fleet.cohorts import job_cohorts
from dashboard.fleet.method import METHOD
from dashboard.fleet.offenders import repeat_offenders
from dashboard.fleet.weights import costs, times_between
from dashboard.reading import FleetQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.fleet.cohorts import JobCohort
    from dashboard.fleet.offenders import RepeatOffender
    from dashboard.reading import FleetRow
    from dashboard.site import Site

__all__ = ["MAX_FLEET_DAYS", "fleet_context"]

MAX_FLEET_DAYS = 90
_REQUIREMENT = "This store finds verdicts by cluster and day: choose a cluster."
_SHOWN = 50
_OFFENDER_JOBS = 10
_COHORT_JOBS = 20
_COHORT_NODES = 32
_SYMPTOMS = 5
_POINTS = 15
_EVEN = 0.1
"""Halves that chance would make so uneven in fewer cases show a trend."""


def fleet_context(site: Site, filters: FleetFilters) -> FleetContext:
    """Statistics of a window; ``InvalidRequestError``. What the store cannot answer is a notice."""
    since, until = _window(filters, int(site.clock()))
    refused = site.reader.capabilities.partitioned and not filters.cluster
    query = FleetQuery(since=since, until=until, cluster=filters.cluster or None)
    rows = [] if refused else list(site.reader.fleet(query))
    weights = _weights(rows, site.gpus_per_node)
    return FleetContext(
        **site.page(PageName.FLEET, "Fleet", [Notice(level=NoticeLevel.WARNING, text=_REQUIREMENT)] if refused else ()),
        filters=filters,
        clusters=tuple(site.reader.clusters()),
        refused=refused,
        since=rfc3339(since),
        until=rfc3339(until),
        verdicts=len(rows),
        failures=sum(weight.failures for weight in weights),
        offenders=tuple(_offender(found, since, until) for found in repeat_offenders(rows)[:_SHOWN]),
        cohorts=tuple(_cohort(found) for found in job_cohorts(rows, until - since)[:_SHOWN]),
        sub_domains=weights,
        mean_times=_mean_times(rows, until - since),
        gpus_per_node=site.gpus_per_node,
        method=METHOD,
    )


def _weights(rows: Sequence[FleetRow], gpus_per_node: int) -> tuple[SubDomainWeight, ...]:
    found = costs(rows, gpus_per_node)
    failures = sum(cost.failures for cost in found.values())
    hours = sum(cost.gpu_hours for cost in found.values())
    return tuple(
        SubDomainWeight(
            sub_domain=domain,
            failures=cost.failures,
            share=round(cost.failures / failures, 4) if failures else 0.0,
            gpu_hours=round(cost.gpu_hours, 1),
            gpu_hours_share=round(cost.gpu_hours / hours, 4) if hours else 0.0,
            unknown_hours=cost.unknown,
        )
        for domain, cost in sorted(found.items(), key=lambda known: -known[1].failures)
    )


def _window(filters: FleetFilters, now: int) -> tuple[int, int]:
    faults: list[Fault] = []
    until = time_of("until", filters.until, faults, end=True) or now + 1
    if not 1 <= filters.days <= MAX_FLEET_DAYS:
        faults.append(Fault("days", "", str(filters.days), f"1 to {MAX_FLEET_DAYS}"))
    if faults:
        msg = "the filters are not valid"
        raise InvalidRequestError(msg, faults)
    return until - filters.days * SECONDS_A_DAY, until


def _offender(found: RepeatOffender, since: int, until: int) -> Offender:
    names = Counter(row.symptom for row in found.rows if row.symptom)
    symptoms = [name for name, _ in names.most_common(_SYMPTOMS)]
    trend = _trend(found.episodes, since, until)
    count = len(found.episodes)
    return Offender(
        kind=found.part.kind,
        cluster=found.part.cluster,
        name=found.part.name,
        failures=len(found.rows),
        episodes=count,
        expected=round(found.expected, 3),
        probability=found.probability,
        trend=trend,
        points=tuple(_points(found.rows, since, until)),
        symptoms=tuple(symptoms),
        last_failure=rfc3339(found.rows[-1].when),
        jobs=tuple(_job(row) for row in reversed(found.rows[-_OFFENDER_JOBS:])),
        sentence=(
            f"{found.part.name} failed {counted(len(found.rows), 'job')} in {counted(count, 'episode')}, where "
            f"{found.expected:.1f} would be ordinary; {trend.value}; mostly "
            f"{listed([symptom_words(name) for name in symptoms], shown=2) or 'without a root symptom'}."
        ),
    )


def _trend(episodes: Sequence[int], since: int, until: int) -> Trend:
    """By the two halves of the window."""
    late = sum(at >= (since + until) / 2 for at in episodes)
    if binomial_at_least(late, len(episodes)) < _EVEN:
        return Trend.RISING
    return Trend.FALLING if binomial_at_least(len(episodes) - late, len(episodes)) < _EVEN else Trend.STEADY


def _points(rows: Sequence[FleetRow], since: int, until: int) -> list[TrendPoint]:
    """The window in as many equal parts, of whole days."""
    step = max(1, -(-(until - since) // (_POINTS * SECONDS_A_DAY))) * SECONDS_A_DAY
    counts = Counter(max(0, row.when - since) // step for row in rows)
    number = -(-(until - since) // step)
    return [TrendPoint(start=rfc3339(since + i * step)[:10], failures=counts[i]) for i in range(number)]


def _cohort(found: JobCohort) -> Cohort:
    first, last = found.rows[0], found.rows[-1]
    minutes = round((last.when - first.when) / 60, 1)
    nodes = folded(found.nodes)
    return Cohort(
        cluster=found.cluster,
        symptom=found.symptom,
        nodes=found.nodes[:_COHORT_NODES],
        node_list=nodes,
        started=rfc3339(first.when),
        ended=rfc3339(last.when),
        minutes=minutes,
        jobs_total=len(found.rows),
        jobs=tuple(_job(row) for row in found.rows[:_COHORT_JOBS]),
        expected=round(found.expected, 4),
        sentence=(
            f"{counted(len(found.rows), 'job')} failed of {symptom_words(found.symptom)} on "
            f"{counted(len(found.nodes), 'neighbouring node')} ({nodes}) within {minutes:g} minutes from "
            f"{short_time(rfc3339(first.when))} UTC: look at what they share."
        ),
    )


def _job(row: FleetRow) -> JobLink:
    return JobLink(
        cluster=row.cluster, job_id=row.job_id, attempt=row.attempt, at=rfc3339(row.when), symptom=row.symptom or ""
    )


def _mean_times(rows: Sequence[FleetRow], seconds: int) -> tuple[MeanTime, ...]:
    def rounded(hours: float | None) -> float | None:
        return None if hours is None else round(hours, 2)

    return tuple(
        MeanTime(
            cluster=found.cluster,
            failures=found.failures,
            hours=rounded(found.hours),
            low=rounded(found.low),
            high=rounded(found.high),
            node_hours=rounded(found.node_hours),
        )
        for found in times_between(rows, seconds)
    )
