"""Reading ``[[sequence]]``: lines with offsets, a job, and what its verdict must say.

[[sequence]]
name = "an Xid after a Python error of that rank is only its echo"
origin = "…"
job = { nodes = ["node-0001"], state = "FAILED" }       # as in job.toml
lines = [
  { at = 0, source = "applog", node = "node-0001", rank = 0, line = "RuntimeError: …" },
  { at = 3, source = "syslog", node = "node-0001", line = "NVRM: Xid …" },
]                                # at: seconds; left out: the line has no time but what it prints
metrics = [                      # beside lines or instead of them; values: seconds and what was measured then
  { metric = "DCGM_FI_DEV_XID_ERRORS", labels = { Hostname = "node-0001", gpu = "2" }, values = [[0, 0], [60, 79]] },
]
expect = { outcome = "application_error", symptom = "…", bad_nodes = [], discarded = ["XID-…"] }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.tables import TableReader
from attribution_lib.rules.toml_lines import TableLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rules.model import Location

__all__ = ["EXPECTATIONS", "SequenceLine", "SequenceSample", "SequenceSeries", "read_sequence"]

_SERIES = '{ metric = "…", labels = { … }, values = [[0, 0], [60, 79]] }'

EXPECTATIONS = {
    "outcome": str,
    "sub_domain": str,
    "terminal_state": str,
    "confidence": str,
    "symptom": str,
    "rule": str,
    "node": str,
    "rank": int,
    "line": str,
    "bad_nodes": list,
    "interesting_nodes": list,
    "remaining": list,
    "demoted": list,
    "discarded": list,
    "alternatives": list,
    "changed_by": list,
    "collections": dict,
    "needed_evidence": list,
}
"""What ``expect`` may name. ``symptom``, ``rule``, ``node`` and ``rank`` are the root's; ``line`` is part of it;
``changed_by`` are rules that discarded or demoted something. ``collections`` are those of
the collectors, of each only what is to be compared;
``needed_evidence`` are parts of `source node: why`, none when empty."""


@dataclass(frozen=True, slots=True)
class SequenceLine:
    """One line of a sequence; ``at`` is seconds after the start, None when only the line itself knows."""

    line: str
    source: Source
    stream: str
    at: float | None
    node: str | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class SequenceSeries:
    """One series of a sequence: its labels, the metric's name among them, and (seconds after the start, value)."""

    labels: Mapping[str, str]
    samples: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class SequenceSample:
    """Some lines and metrics of one job and what its verdict must say."""

    location: Location
    name: str
    origin: str
    job: Mapping[str, Any]
    lines: tuple[SequenceLine, ...]
    expect: Mapping[str, Any]
    metrics: tuple[SequenceSeries, ...] = ()


def read_sequence(reader: TableReader) -> SequenceSample:
    """One ``[[sequence]]``; faults are noted in the reader."""
    raw_lines = reader.raw("lines")
    sample = SequenceSample(
        location=reader.location,
        name=reader.text("name", default=""),
        origin=reader.text("origin"),
        job=reader.table("job"),
        lines=tuple(_read_lines(reader, raw_lines)),
        expect=_read_expect(reader),
        metrics=tuple(_read_metrics(reader, reader.raw("metrics"))),
    )
    source = reader.text("source", default="")
    reader.finish()
    if source and source not in TEXT_SOURCES:
        reader.fault("source", f"is {source!r}", f"one of {', '.join(TEXT_SOURCES)}")
    return sample


def _read_lines(reader: TableReader, raw: Any) -> list[SequenceLine]:
    if raw is None and reader.has("metrics"):
        return []
    if not isinstance(raw, list) or not raw:
        reader.fault("lines", "is missing or empty", 'an array of { at = 0, source = "…", line = "…" }')
        return []
    default = reader.raw("source") or Source.APPLOG.value
    lines = []
    for index, item in enumerate(raw):
        values = {"line": item} if isinstance(item, str) else item
        if not isinstance(values, dict):
            reader.fault("lines", f"element {index + 1} is {item!r}", "a string or a table", index)
            continue
        line = TableReader(
            kind="sequence line",
            values=values,
            path=reader.path,
            lines=TableLines(reader.at("lines", index).line),
            faults=reader.faults,
            defaults={"source": default},
        )
        lines.append(_read_line(line))
    return lines


def _read_line(reader: TableReader) -> SequenceLine:
    source = Source(reader.choice("source", [source.value for source in TEXT_SOURCES]))
    line = SequenceLine(
        line=reader.text("line"),
        source=source,
        stream=reader.text("stream", default=f"{source}.log"),
        at=reader.number("at") if reader.has("at") else None,
        node=reader.text("node", default="") or None,
        rank=reader.integer("rank") if reader.has("rank") else None,
    )
    reader.raw("at")
    reader.raw("rank")
    reader.finish()
    return line


def _read_metrics(reader: TableReader, raw: Any) -> Iterator[SequenceSeries]:
    """The series; what is not one is a fault of the sequence."""
    items = raw if isinstance(raw, list) else []
    if raw is not None and not items:
        reader.fault("metrics", "is empty or no array", _SERIES)
    for index, item in enumerate(items):
        series = _read_series(item) if isinstance(item, dict) else None
        if series is None:
            reader.fault("metrics", f"element {index + 1} is {item!r}", _SERIES, index)
        else:
            yield series


def _read_series(item: dict[str, Any]) -> SequenceSeries | None:
    name, labels, values = item.get("metric"), item.get("labels", {}), item.get("values")
    whole = isinstance(name, str) and isinstance(labels, dict) and isinstance(values, list) and _are_pairs(values)
    if not whole or item.keys() - {"metric", "labels", "values"}:
        return None
    texts = {str(key): str(value) for key, value in labels.items()}
    return SequenceSeries({"__name__": str(name), **texts}, tuple((at, value) for at, value in values or ()))


def _are_pairs(values: list[Any]) -> bool:
    return bool(values) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, int | float) for part in pair)  # noqa: PLR2004 -- a pair
        for pair in values
    )


def _read_expect(reader: TableReader) -> dict[str, Any]:
    expect = reader.table("expect", required=True)
    for key, value in expect.items():
        kind = EXPECTATIONS.get(key)
        if kind is None:
            reader.fault("expect", f"unknown key {key!r}", f"one of {', '.join(EXPECTATIONS)}")
        elif not isinstance(value, kind):
            reader.fault("expect", f"{key} is {value!r}", f"a {kind.__name__}")
    if not expect and reader.has("expect"):
        reader.fault("expect", "is empty", "at least one of " + ", ".join(EXPECTATIONS))
    return expect
