"""Pairs of hosts that lost each other, laid out as a matrix."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.building.words import counted, short_time
from dashboard.contexts.pairs import MAX_ENDS, PairCell, PairMatrix, PairRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["pair_matrix"]

_ROWS = 100
_UNKNOWN = "unknown host"


@dataclass(frozen=True, slots=True)
class _Pair:
    source: str
    target: str
    count: int
    row: PairRow


def pair_matrix(collections: Mapping[str, Any]) -> PairMatrix | None:
    """The matrix of the collector ``bad_pairs``; None when it found none."""
    given = collections.get("bad_pairs")
    pairs = [_pair(entry) for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    if not pairs:
        return None
    ends = Counter(end for pair in pairs for end in {pair.source, pair.target})
    hosts = [name for name, _ in sorted(ends.items(), key=lambda end: (-end[1], end[0]))][:MAX_ENDS]
    index = {host: number for number, host in enumerate(hosts)}
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        counts[pair.source, pair.target] += pair.count
    inside = {key: count for key, count in counts.items() if key[0] in index and key[1] in index}
    most = max(inside.values(), default=1)
    return PairMatrix(
        hosts=tuple(hosts),
        cells=tuple(
            PairCell(
                row=index[source],
                column=index[target],
                count=count,
                weight=round(count / most, 3),
                label=f"{source} lost {target}: {counted(count, 'error')}",
            )
            for (source, target), count in inside.items()
        ),
        rows=tuple(pair.row for pair in pairs[:_ROWS]),
        total=len(pairs),
        summary=_summary(ends, len(pairs)),
        omitted=_omitted(len(ends) - len(hosts), len(pairs) - _ROWS),
    )


def _pair(entry: Mapping[str, Any]) -> _Pair:
    ends = [str(entry.get(f"{side}_node") or entry.get(f"{side}_ip") or _UNKNOWN) for side in ("src", "dst")]
    count = entry.get("count")
    errors = count if isinstance(count, int) and count > 0 else 1
    row = PairRow(
        source=ends[0],
        target=ends[1],
        count=errors,
        hca=_text(entry, "hca"),
        status=_text(entry, "status"),
        vendor_error=_text(entry, "vendor_err"),
        first_seen=short_time(_text(entry, "first")),
        last_seen=short_time(_text(entry, "last")),
    )
    return _Pair(ends[0], ends[1], errors, row)


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return "" if value is None else str(value)


def _summary(ends: Counter[str], pairs: int) -> str:
    if pairs == 1:
        return "One pair of hosts lost each other: either end, or what lies between them."
    name, most = max(ends.items(), key=lambda end: (end[1], end[0]))
    if most == pairs:
        return f"All {pairs:,} pairs have {name} in common: look there first."
    if most * 2 > pairs:
        return f"{most:,} of {pairs:,} pairs have {name} in common: look there first."
    return f"{pairs:,} pairs share no end (most: {name} in {most:,}): look at the network between them."


def _omitted(hosts: int, rows: int) -> str:
    parts: Sequence[str] = [
        *([counted(hosts, "host")] if hosts > 0 else []),
        *([f"{counted(rows, 'pair')} of the table"] if rows > 0 else []),
    ]
    return f"Not shown: {' and '.join(parts)}." if parts else ""
