"""Folding a spill into rows that are there already: most of it repeats what is known and needs no event of its own."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.codec import events_of_named
from attribution_lib.events.event import Clock
from attribution_lib.events.fold import FoldKey, make_key
from attribution_lib.events.schema import EVENT_COLUMNS
from attribution_lib.events.spill import read_spill

if TYPE_CHECKING:
    from attribution_lib.events.batches import ObservationRow
    from attribution_lib.events.folder import Folder

__all__ = ["fold_spill"]

_CLOCKS = {clock.value: clock for clock in Clock}
_PAYLOAD, _CONTEXT = (EVENT_COLUMNS.index(name) for name in ("payload", "context"))


def _columns(*names: str) -> itemgetter[Any]:
    return itemgetter(*(EVENT_COLUMNS.index(name) for name in names))


_SPECIAL = _columns("fold", "overflow", "last_stream", "derived_from", "state")
_PLAIN = (None, 0, None, None, "active")
"""``_SPECIAL`` of a row that is one occurrence and nothing else."""
_KEY = _columns(
    "source_rule", "event_type", "obs_context_id", "node", "rank", "device", "symptom", "clock", "key_fields", "stream"
)
_TIMESTAMP = EVENT_COLUMNS.index("timestamp")
_OCCURRENCE = _columns("timestamp", "stream", "line_num", "occurrences")
_DECLARED = EVENT_COLUMNS.index("node_declared")


def fold_spill(data: bytes, folder: Folder) -> list[ObservationRow]:
    """Fold every row of a spill, return its batches; ``StoreFormatError``, and nothing folded, when it is damaged."""
    batches, rows = read_spill(data)
    try:
        repeats, fresh = _split(rows, folder)
        events = events_of_named(fresh)
        _check(repeats)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        msg = "spill: a row is damaged; extract its observation again"
        raise StoreFormatError(msg) from error
    folder.add_all(events)
    shown = [row for key, row in repeats if not folder.bump(key, *_OCCURRENCE(row), declared=row[_DECLARED] == 1)]
    folder.add_all(events_of_named(shown))
    return batches


def _split(rows: list[list[Any]], folder: Folder) -> tuple[list[tuple[FoldKey, list[Any]]], list[list[Any]]]:
    """Single occurrences of known keys, with the key; and every other row."""
    repeats: list[tuple[FoldKey, list[Any]]] = []
    fresh: list[list[Any]] = []
    fields: dict[str | None, tuple[str, ...]] = {None: ()}
    for row in rows:
        if _SPECIAL(row) != _PLAIN:
            fresh.append(row)
            continue
        rule, event_type, observation, node, rank, device, symptom, clock, given, stream = _KEY(row)
        if given not in fields:
            fields[given] = tuple(from_json(given))
        place = (node, rank, device)
        held = fields[given]
        key = make_key(rule, event_type, observation[1], *place, symptom, _CLOCKS[clock], held, stream, row[_TIMESTAMP])
        if key in folder:
            repeats.append((key, row))
        else:
            fresh.append(row)
    return repeats, fresh


def _check(repeats: list[tuple[FoldKey, list[Any]]]) -> None:
    """What is not decoded unless it is needed must be such that it can be."""
    for column in (_PAYLOAD, _CONTEXT):
        texts = [row[column] for _, row in repeats if row[column] is not None]
        from_json("[" + ",".join(texts) + "]")
