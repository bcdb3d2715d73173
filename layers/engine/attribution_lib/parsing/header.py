"""An observation's fields apart from its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.observation import ObservationFormat, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.fields import FieldChecker

__all__ = ["ENTRIES_KEY", "Header", "read_header"]

ENTRIES_KEY = "entry_timeseries"
_KEYS = ("observation_id", "source", "format", "stream", "first_line", "start", "end", "node", "rank")
_MAX_LINE = 1 << 53
_MAX_RANK = 2_000_000


@dataclass(frozen=True, slots=True)
class Header:
    """The checked fields; ``given`` holds start and end as they were written, for the canonical form."""

    source: Source
    format: ObservationFormat
    observation_id: str
    stream: str
    first_line: int
    start: int | None
    end: int | None
    node: str | None
    rank: int | None
    given: Mapping[str, Any]

    def canonical(self) -> dict[str, Any]:
        """What the digest covers besides the entries, absent fields at their defaults."""
        return {
            "source": self.source.value,
            "format": self.format.value,
            "stream": self.stream,
            "first_line": self.first_line,
            "node": self.node,
            "rank": self.rank,
            "start": self.given.get("start"),
            "end": self.given.get("end"),
        }


def read_header(fields: Mapping[str, Any], check: FieldChecker) -> Header | None:
    """The header, or None with its faults noted in ``check``. A null is an absent field."""
    for key in sorted(str(key) for key in fields if key not in _KEYS and key != ENTRIES_KEY):
        check.fault(key[:100], "unknown key", "one of " + ", ".join((*_KEYS, ENTRIES_KEY)))
    given = {key: value for key, value in fields.items() if value is not None}
    source = _member(given, "source", Source, check)
    layout = _member(given, "format", ObservationFormat, check)
    if source is not None and layout is not None:
        matrix = layout is ObservationFormat.PROMETHEUS_MATRIX
        if matrix != (source is Source.NODE_METRICS):
            check.fault(
                "format", f"{layout.value} with source {source.value}", "prometheus_matrix for node_metrics only"
            )
    stream = check.text(given.get("stream", ""), "stream")
    first_line = check.integer(given.get("first_line", 1), "first_line", lowest=1, highest=_MAX_LINE)
    observation_id = check.identifier(given["observation_id"], "observation_id") if "observation_id" in given else ""
    start = check.instant(given["start"], "start") if "start" in given else None
    end = check.instant(given["end"], "end") if "end" in given else None
    if start is not None and end is not None and end < start:
        check.fault("end", "before start", "a batch that ends after it starts")
    node = check.identifier(given["node"], "node") if "node" in given else None
    rank = check.integer(given["rank"], "rank", highest=_MAX_RANK) if "rank" in given else None
    if source is None or layout is None or stream is None or first_line is None or observation_id is None:
        return None
    return Header(source, layout, observation_id, stream, first_line, start, end, node, rank, given)


def _member(given: Mapping[str, Any], key: str, kind: type[Source | ObservationFormat], check: FieldChecker) -> Any:
    value: Any = given.get(key)
    try:
        return kind(value)
    except ValueError:
        expected = "one of " + ", ".join(member.value for member in kind)
        check.fault(key, "missing" if value is None else f"{str(value)[:60]!r} is not known", expected)
        return None
