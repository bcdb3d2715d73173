"""Where a stream may be cut, or noise put in, without tearing a multi-line record apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import ObservationFormat
from attribution_lib.rules.model import AccumulatorRule
from sample_cases import bundled_engine

if TYPE_CHECKING:
    from attribution_lib.observation import Observation


def record_gaps(observation: Observation) -> list[int]:
    """Numbers of lines after which nothing is open: those before the first line that opens a multi-line record."""
    if observation.format is not ObservationFormat.TEXT:
        return []
    plan = bundled_engine().plans.of(observation.source)
    lines = observation.text.splitlines()
    for number, line in enumerate(lines):
        if any(
            isinstance(planned.rule, AccumulatorRule) and planned.confirm.find(line) is not None
            for planned in plan.rules
        ):
            return list(range(1, number))
    return list(range(1, len(lines)))
