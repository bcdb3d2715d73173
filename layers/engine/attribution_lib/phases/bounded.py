"""The size of a verdict on the wire: what does not fit gives up the rows of its longest lists, and says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attribution_lib.verdict import Verdict

__all__ = ["VERDICT_BYTES", "bounded"]

VERDICT_BYTES = 4_000_000
_TRIMMED = ("symptoms", "chain", "interesting_nodes", "bad_nodes", "collections", "diagnostics")
"""What is rows upon rows, most important last: of two of one size the one before gives way."""


def bounded(verdict: Verdict, limit: int = VERDICT_BYTES) -> Verdict:
    """The verdict, or the same with halves of its largest lists left out until it fits; a note tells how many rows.

    Totals (``bad_nodes_total``, the counts of each row) stay as they are, and so does the first half of every list.
    """
    size = _size(verdict)
    if size <= limit:
        return verdict
    notes = verdict.notes
    parts = {name: _plain(verdict)[name] for name in _TRIMMED}
    rows = {name: _rows(part) for name, part in parts.items()}
    while size > limit:
        largest = max(_TRIMMED, key=lambda name: _bytes(parts[name]))
        halved = _halved(parts[largest])
        if halved == parts[largest]:
            break
        parts[largest] = halved
        kept = {name: (_rows(part), rows[name]) for name, part in parts.items() if _rows(part) < rows[name]}
        cut = ", ".join(f"{name} {left} of {of} rows" for name, (left, of) in kept.items())
        told = [*notes, f"Cut to {limit // 1_000_000} MB: {cut}"]
        verdict = type(verdict).model_validate_json(json.dumps({**_plain(verdict), **parts, "notes": told}))
        size = _size(verdict)
    return verdict


def _plain(verdict: Verdict) -> dict[str, Any]:
    return verdict.model_dump(mode="json", by_alias=True)


def _size(verdict: Verdict) -> int:
    return len(verdict.model_dump_json(by_alias=True).encode())


def _bytes(part: Any) -> int:
    return len(json.dumps(part, ensure_ascii=False).encode())


def _rows(part: Any) -> int:
    """How many rows a part holds, in whatever it is nested."""
    if isinstance(part, dict):
        return sum(map(_rows, part.values()))
    return len(part) if isinstance(part, list) else 1


def _halved(part: Any) -> Any:
    """The first half of a list; of a mapping, its largest value halved, or the first half of many small ones."""
    if isinstance(part, list):
        return part[: len(part) // 2]
    if not isinstance(part, dict) or not part:
        return part
    largest = max(part, key=lambda name: _bytes(part[name]))
    halved = _halved(part[largest])
    if halved != part[largest] and 2 * len(part) * _bytes(part[largest]) >= _bytes(part):
        return {**part, largest: halved}
    return dict(list(part.items())[: len(part) // 2])
