"""Counts of one request as CloudWatch's embedded metric format: one line of standard output a set of dimensions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["NAMESPACE", "Meter", "Metric"]

NAMESPACE = "Attribution"
_SERVICE = "attribution"


class Metric(StrEnum):
    """What is counted; the value is the name in CloudWatch."""

    INGESTED_LINES = "IngestedLines"
    INGESTED_EVENTS = "IngestedEvents"
    DUPLICATES = "DuplicateObservations"
    CONFLICTS = "ConflictingObservations"
    VERDICTS = "Verdicts"
    ENGINE_TIME = "EngineTime"
    SPILLS_READ = "SpillsRead"
    ABANDONED = "AbandonedSessions"

    @property
    def unit(self) -> str:
        """CloudWatch's name of the unit."""
        return "Milliseconds" if self is Metric.ENGINE_TIME else "Count"


@dataclass(slots=True)
class Meter:
    """Collects the counts of one request; ``flush`` writes and forgets them."""

    counts: dict[tuple[tuple[str, str], ...], dict[Metric, float]] = field(default_factory=dict)

    def count(self, metric: Metric, value: float, **dimensions: str) -> None:
        """Add to a metric; ``dimensions`` beyond the service's name make a set of their own."""
        bag = self.counts.setdefault(tuple(sorted(dimensions.items())), {})
        bag[metric] = bag.get(metric, 0) + value

    def flush(self, write: Callable[[str], None] | None, at: float) -> None:
        """Write what was counted as lines stamped ``at`` (seconds since the epoch), if there is whom to write to."""
        # Powertools' Metrics collects on a singleton, which the threads of the local server would share.
        if write is not None:
            for line in self._lines(int(at * 1000)):
                write(line)
        self.counts.clear()

    def _lines(self, stamp: int) -> Iterator[str]:
        for extra, bag in self.counts.items():
            dimensions = {"service": _SERVICE, **dict(extra)}
            definition = {
                "Namespace": NAMESPACE,
                "Dimensions": [list(dimensions)],
                "Metrics": [{"Name": metric.value, "Unit": metric.unit} for metric in bag],
            }
            header = {"Timestamp": stamp, "CloudWatchMetrics": [definition]}
            values = {metric.value: value for metric, value in bag.items()}
            yield json.dumps({"_aws": header, **dimensions, **values})
