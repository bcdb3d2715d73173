"""The redactor applied to an observation: before anything is extracted from it or stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from attribution_lib.observation import LogEntries, MetricSeries
from attribution_lib.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.observation import Observation

__all__ = ["masked"]


def masked(observation: Observation) -> Observation:
    """The observation without secrets, their number added to ``redacted``; id and digest stay those of the body."""
    if observation.text:
        text, count = redact(observation.text)
        return replace(observation, text=text, redacted=observation.redacted + count) if count else observation
    if observation.entries.lines:
        lines, count = _masked_lines(observation.entries.lines)
        entries = LogEntries(lines, observation.entries.stamps, observation.entries.nodes, observation.entries.ranks)
        return replace(observation, entries=entries, redacted=observation.redacted + count) if count else observation
    if observation.series:
        labels, count = _masked_json([dict(series.labels) for series in observation.series])
        if count:
            pairs = zip(labels, observation.series, strict=True)
            series = [MetricSeries(found, before.samples) for found, before in pairs]
            return replace(observation, series=series, redacted=observation.redacted + count)
    return observation


def _masked_lines(lines: Sequence[str]) -> tuple[Sequence[str], int]:
    """Lines are masked together: a private key may span several."""
    joined = "\n".join(lines)
    data, count = redact(joined.encode("utf-8", "surrogatepass"))
    if not count:
        return lines, 0
    found = data.decode("utf-8", "surrogatepass").split("\n")
    if len(found) == len(lines):
        return found, count
    return _masked_json(list(lines))  # entries that hold line ends themselves


def _masked_json(value: list[Any]) -> tuple[list[Any], int]:
    data, count = redact(to_json(value))
    return (from_json(data), count) if count else (value, 0)
