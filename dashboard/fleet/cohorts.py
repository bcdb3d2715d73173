"""Cohorts: the same root symptom on neighbouring nodes in a short time, which points at what the nodes share.

Two failures of one symptom belong together when their nodes are the same or neighbours and they are at most an hour
apart; a cohort is what hangs together so. It has at least three jobs on at least two nodes, and chance would not put so
many jobs of this symptom on so few nodes in so short a time: probability below 0.01 over all failures of the symptom.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.taxonomy import SubDomain
from dashboard.fleet.chance import at_least
from dashboard.fleet.neighbours import place_of
from dashboard.fleet.offenders import MAX_BLAMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dashboard.reading import FleetRow

__all__ = ["JobCohort", "job_cohorts"]

_WINDOW_SECONDS = 3_600
_MIN_JOBS = 3
_MIN_NODES = 2
_SIGNIFICANCE = 0.01
_BLAMING = (SubDomain.HARDWARE, SubDomain.SYSTEM_SOFTWARE, SubDomain.AMBIGUOUS)


@dataclass(frozen=True, slots=True)
class JobCohort:
    """Jobs that failed together, oldest first."""

    cluster: str
    symptom: str
    nodes: tuple[str, ...]
    """In the order of their numbers."""
    rows: tuple[FleetRow, ...]
    expected: float
    """Further jobs of this symptom that chance would have put beside the first one."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    row: FleetRow
    node: str
    number: int


def job_cohorts(rows: Iterable[FleetRow], window_seconds: int) -> list[JobCohort]:
    """The newest first; ``window_seconds`` is how long a time the rows are of."""
    seen: dict[tuple[str, str], dict[tuple[str, str], list[_Sighting]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.symptom is None or row.sub_domain not in _BLAMING or row.bad_nodes_total > MAX_BLAMED:
            continue
        for node in dict.fromkeys(row.bad_nodes or filter(None, [row.node])):
            place = place_of(node)
            seen[row.cluster, row.symptom][place.row].append(_Sighting(row, node, place.number))
    found = []
    for (cluster, symptom), places in seen.items():
        sightings = [sighting for group in places.values() for sighting in group]
        base = _Base(len({_job(s.row) for s in sightings}), len({s.node for s in sightings}), window_seconds)
        for group in places.values():
            found += [
                cohort
                for members in _together(sorted(group, key=lambda sighting: sighting.row.when))
                if (cohort := _cohort(cluster, symptom, members, base)) is not None
            ]
    return sorted(found, key=lambda cohort: (-cohort.rows[-1].when, cohort.cluster, cohort.symptom))


@dataclass(frozen=True, slots=True)
class _Base:
    """All failures of one symptom in one cluster."""

    jobs: int
    nodes: int
    seconds: int


def _cohort(cluster: str, symptom: str, members: Sequence[_Sighting], base: _Base) -> JobCohort | None:
    rows = {_job(sighting.row): sighting.row for sighting in members}
    nodes = {sighting.number: sighting.node for sighting in members}
    if len(rows) < _MIN_JOBS or len(nodes) < _MIN_NODES:
        return None
    ordered = sorted(rows.values(), key=lambda row: (row.when, row.job_id, row.attempt))
    # Around any one failure: an hour to both sides of the cohort's own time, its nodes and one more on either side.
    duration = ordered[-1].when - ordered[0].when + 2 * _WINDOW_SECONDS
    others = max(1, base.jobs - len(rows))
    elsewhere = max(base.nodes, len(nodes) + 2)
    expected = others * min(1.0, duration / max(base.seconds, duration)) * (len(nodes) + 2) / elsewhere
    if at_least(len(rows) - 1, expected) * base.jobs >= _SIGNIFICANCE:
        return None
    return JobCohort(cluster, symptom, tuple(nodes[number] for number in sorted(nodes)), tuple(ordered), expected)


def _together(sightings: Sequence[_Sighting]) -> Iterator[list[_Sighting]]:
    """Groups of one row of nodes that hang together in time and place; ``sightings`` oldest first."""
    group_of: list[int] = list(range(len(sightings)))

    def head(index: int) -> int:
        while group_of[index] != index:
            group_of[index] = group_of[group_of[index]]
            index = group_of[index]
        return index

    last: dict[int, int] = {}
    for index, sighting in enumerate(sightings):
        for number in (sighting.number - 1, sighting.number, sighting.number + 1):
            before = last.get(number)
            if before is not None and sighting.row.when - sightings[before].row.when <= _WINDOW_SECONDS:
                group_of[head(index)] = head(before)
        last[sighting.number] = index
    groups: dict[int, list[_Sighting]] = defaultdict(list)
    for index, sighting in enumerate(sightings):
        groups[head(index)].append(sighting)
    yield from groups.values()


def _job(row: FleetRow) -> tuple[str, int]:
    return row.job_id, row.attempt
