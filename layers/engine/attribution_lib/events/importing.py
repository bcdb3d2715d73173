"""Folding a spill into rows that are there already: most of it repeats what is known and needs no event of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import DecodeError
from pydantic_core import from_json

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.codec import events_of_named
from attribution_lib.events.fold import count_later, make_key, only_counts
from attribution_lib.events.spill import read_spill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.events.batches import ObservationRow
    from attribution_lib.events.event import Event
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.events.folder import Folder
    from attribution_lib.events.spill import SpillRow

__all__ = ["fold_spill"]

_Counted = list[tuple["Event", "SpillRow"]]
_Known = list[tuple["FoldKey", "SpillRow"]]


def fold_spill(data: bytes, folder: Folder) -> list[ObservationRow]:
    """Fold every row of a spill, return its batches; ``StoreFormatError``, and nothing folded, when it is damaged."""
    batches, rows = read_spill(data)
    try:
        counted, known, fresh = _split(rows, folder)
        events = events_of_named(row.values() for row in fresh)
        _check(row for _, row in known)
    except (ValueError, TypeError, IndexError, KeyError, DecodeError) as error:
        msg = "spill: a row is damaged; extract its observation again"
        raise StoreFormatError(msg) from error
    for event, row in counted:  # before any other key comes and puts the event out
        declared = row.node_declared == 1
        count_later(event, row.timestamp, row.stream, row.line_num, row.occurrences, declared=declared)
    shown = [row for key, row in known if not _kept_as_sample(folder, key, row)]
    folder.add_all(events)
    folder.add_all(events_of_named(row.values() for row in shown))
    return batches


def _split(rows: Iterable[SpillRow], folder: Folder) -> tuple[_Counted, _Known, list[SpillRow]]:
    """Occurrences that only count, with the event that counts them; others of known keys; and every other row."""
    counted: _Counted = []
    known: _Known = []
    fresh: list[SpillRow] = []
    fields: dict[str | None, tuple[str, ...]] = {None: ()}
    for row in rows:
        if row.fold is not None or row.overflow or row.last_stream is not None or not _is_unchanged(row):
            fresh.append(row)
            continue
        given = row.key_fields
        if given not in fields:
            fields[given] = tuple(from_json(given or ""))
        key = _key(row, fields[given])
        event = folder.get(key)
        if event is None:
            fresh.append(row)
        elif only_counts(event, row.timestamp, row.stream, row.line_num):
            counted.append((event, row))
        else:
            known.append((key, row))
    return counted, known, fresh


def _is_unchanged(row: SpillRow) -> bool:
    return row.state == "active" and row.derived_from is None


def _key(row: SpillRow, fields: tuple[str, ...]) -> FoldKey:
    return make_key(
        row.source_rule,
        row.event_type,
        row.obs_context_id[1],
        row.node,
        row.rank,
        row.device,
        row.symptom,
        row.clock,
        fields,
        row.stream,
        row.timestamp,
    )


def _kept_as_sample(folder: Folder, key: FoldKey, row: SpillRow) -> bool:
    return folder.count(
        key,
        row.timestamp,
        row.stream,
        row.line_num,
        row.source_datum,
        row.occurrences,
        declared=row.node_declared == 1,
    )


def _check(rows: Iterable[SpillRow]) -> None:
    """What is not decoded unless it is needed must be such that it can be."""
    texts = [text for row in rows for text in (row.payload, row.context_text()) if text is not None]
    from_json("[" + ",".join(texts) + "]")
