"""What failures cost, by sub-domain, and how often the machines themselves fail."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.taxonomy import SubDomain
from dashboard.fleet.chance import poisson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dashboard.reading import FleetRow

__all__ = ["MACHINES", "Cost", "TimeBetween", "costs", "gpu_hours", "times_between"]

MACHINES = (SubDomain.HARDWARE, SubDomain.SYSTEM_SOFTWARE)
"""The sub-domains that mean time between failures is of: the rest is no failure of the machines."""


@dataclass(slots=True)
class Cost:
    """Failed jobs of one sub-domain."""

    failures: int = 0
    gpu_hours: float = 0.0
    unknown: int = 0
    """Jobs whose length or size is unknown."""


@dataclass(frozen=True, slots=True)
class TimeBetween:
    """Hours between failures of one cluster (empty: of all)."""

    cluster: str
    failures: int
    hours: float | None
    low: float | None
    high: float | None
    node_hours: float | None
    """Node-hours of the jobs with verdicts, a failure."""


def gpu_hours(row: FleetRow, gpus_per_node: int) -> float | None:
    """GPUs by the job's own word, else nodes times ``gpus_per_node``; None when length or size is unknown."""
    gpus = row.gpus or row.nodes * gpus_per_node
    return None if row.hours is None or not gpus else row.hours * gpus


def costs(rows: Iterable[FleetRow], gpus_per_node: int) -> dict[SubDomain, Cost]:
    """A cost for every sub-domain but ``none``."""
    found: dict[SubDomain, Cost] = {domain: Cost() for domain in SubDomain if domain is not SubDomain.NONE}
    for row in rows:
        cost = found.get(SubDomain(row.sub_domain))
        if cost is None:
            continue
        hours = gpu_hours(row, gpus_per_node)
        cost.failures += 1
        cost.gpu_hours += hours or 0.0
        cost.unknown += hours is None
    return found


def times_between(rows: Sequence[FleetRow], window_seconds: int) -> list[TimeBetween]:
    """All clusters together first, then each by name."""
    clusters: dict[str, list[FleetRow]] = defaultdict(list)
    for row in rows:
        clusters[row.cluster].append(row)
    return [
        _between("", rows, window_seconds),
        *(_between(name, clusters[name], window_seconds) for name in sorted(clusters)),
    ]


def _between(cluster: str, rows: Sequence[FleetRow], window_seconds: int) -> TimeBetween:
    failures = sum(row.sub_domain in MACHINES for row in rows)
    hours = window_seconds / 3_600
    least, most = poisson_interval(failures)
    nodes = sum(row.nodes * row.hours for row in rows if row.hours is not None)
    return TimeBetween(
        cluster=cluster,
        failures=failures,
        hours=hours / failures if failures else None,
        low=hours / most if failures else None,
        high=hours / least if failures else None,
        node_hours=nodes / failures if failures and nodes else None,
    )
