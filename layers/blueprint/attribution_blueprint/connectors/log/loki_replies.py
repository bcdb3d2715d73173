"""What is asked of Loki and how its replies are read; asks nobody itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LokiEntry", "node_pattern", "read_streams"]

_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")
_STAMP = re.compile(r"\d{1,19}")
_PAIR = 2


@dataclass(frozen=True, slots=True, order=True)
class LokiEntry:
    """One line: nanoseconds since the epoch, the stream's labels as text, the line, and its labels."""

    stamp: int
    stream: str
    line: str
    node: str | None = None
    rank: int | None = None


def node_pattern(nodes: Sequence[str]) -> str:
    """The nodes as an expression within LogQL's double quotes; a domain and a port may follow a name."""
    hosts = "(?:" + "|".join(_SPECIAL.sub(r"\\\1", node) for node in nodes) + r")(?:\..*)?(?::\d+)?"
    return hosts.replace("\\", "\\\\").replace('"', '\\"')


def read_streams(
    reply: Any, node_labels: Sequence[str], rank_labels: Sequence[str]
) -> tuple[list[LokiEntry], list[str]]:
    """The entries of a reply of ``query_range``, oldest first, and its warnings.

    An entry's own labels (structured metadata, third in its row) win over the stream's. ``CollectError`` when it is no
    such reply.
    """
    if not isinstance(reply, dict) or reply.get("status") != "success":
        said = reply.get("error", reply) if isinstance(reply, dict) else reply
        msg = f"no answer of the query API: {str(said)[:200]}"
        raise CollectError(msg)
    data = reply.get("data")
    streams = data.get("result") if isinstance(data, dict) and data.get("resultType") == "streams" else None
    if not isinstance(streams, list):
        msg = f"expected streams, got {str(data)[:120]}; the query has to select log lines"
        raise CollectError(msg)
    entries: list[LokiEntry] = []
    for stream in streams:
        labels = stream.get("stream") if isinstance(stream, dict) else None
        values = stream.get("values") if isinstance(stream, dict) else None
        if not isinstance(labels, dict) or not isinstance(values, list):
            msg = f"a stream without labels or values: {str(stream)[:120]}"
            raise CollectError(msg)
        name = ",".join(f"{key}={labels[key]}" for key in sorted(labels))
        entries += [_entry(row, name, labels, node_labels, rank_labels) for row in values]
    entries.sort(key=lambda entry: entry.stamp)
    return entries, [str(warning)[:300] for warning in reply.get("warnings") or ()]


def _entry(
    row: Any, name: str, labels: Mapping[str, Any], node_labels: Sequence[str], rank_labels: Sequence[str]
) -> LokiEntry:
    fits = isinstance(row, list) and len(row) >= _PAIR and isinstance(row[1], str)
    if not fits or not isinstance(row[0], str) or not _STAMP.fullmatch(row[0]):
        msg = f"an entry that is no [nanoseconds, line]: {str(row)[:120]}"
        raise CollectError(msg)
    own = row[_PAIR] if len(row) > _PAIR and isinstance(row[_PAIR], dict) else {}
    # Loki 3 groups what categorize-labels asks for.
    metadata = own.get("structuredMetadata", own)
    known = {**labels, **metadata} if isinstance(metadata, dict) else labels
    rank = _first(known, rank_labels)
    number = int(rank) if rank is not None and rank.isdecimal() and len(rank) < 8 else None  # noqa: PLR2004 -- digits
    return LokiEntry(int(row[0]), name, row[1], _first(known, node_labels), number)


def _first(labels: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((str(labels[name]) for name in names if labels.get(name)), None)
