"""What a collector hands to the engine: one batch of evidence of one source."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TEXT_SOURCES", "LogEntries", "MetricSeries", "Observation", "ObservationFormat", "Source"]


class Source(StrEnum):
    """Where evidence comes from; the wire values of the v2 API."""

    APPLOG = "applog"
    SYSLOG = "syslog"
    NODE_METRICS = "node_metrics"
    SCHEDULER = "scheduler"


TEXT_SOURCES = (Source.APPLOG, Source.SYSLOG, Source.SCHEDULER)


class ObservationFormat(StrEnum):
    """How an observation's body is laid out."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS_MATRIX = "prometheus_matrix"


@dataclass(frozen=True, slots=True)
class LogEntries:
    """Log lines with what the backend knew about each, kept in columns so that a million entries cost little.

    ``stamps``, ``nodes`` and ``ranks`` are empty when no entry carries one, else as long as ``lines``. A stamp is
    RFC 3339 text or epoch nanoseconds as text, checked by the parser and converted only for lines that a rule hits.
    """

    lines: Sequence[str] = ()
    stamps: Sequence[str | None] = ()
    nodes: Sequence[str | None] = ()
    ranks: Sequence[int | None] = ()


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One series of a Prometheus matrix: labels (with ``__name__``) and samples as (µs since the epoch, value)."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Observation:
    """One batch of evidence of one source.

    ``text`` holds raw bytes of whole lines (format text); ``entries`` holds log entries (format json); ``series``
    holds metric series (format prometheus_matrix). ``(stream, line_num)`` addresses a line, ``first_line`` is the
    1-based number of the first one. ``start`` and ``end`` are µs UTC and informative.
    """

    source: Source
    format: ObservationFormat = ObservationFormat.TEXT
    observation_id: str = ""
    stream: str = ""
    first_line: int = 1
    start: int | None = None
    end: int | None = None
    node: str | None = None
    rank: int | None = None
    text: bytes = b""
    entries: LogEntries = LogEntries()
    series: Sequence[MetricSeries] = ()
    redacted: int = 0
    """How many secrets were masked in the body before it came here."""
    digest: str = field(default="", compare=False)
    """SHA-256 of the canonical body, filled in by the parser; identifies a redelivery."""
