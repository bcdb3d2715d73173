"""Events from rows of the ``events`` table; see ``encoding`` for the other way.

What a row of a single line leaves out is put back, and JSON columns are read in blocks, so that 200,000 rows load in
about a second.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from attribution_lib.events.event import Clock, Event, EventState, EventType, ExplainedBy, Position, Sample
from attribution_lib.events.lookups import Same
from attribution_lib.events.schema import EVENT_COLUMNS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_lib.events.encoding import Row
    from attribution_lib.events.lookups import Lookups

__all__ = [
    "PLAIN",
    "Names",
    "events_of_named",
    "read_others",
    "read_rows",
]

_MINUTE = 60_000_000
_CLOCKS = {clock.value: clock for clock in Clock}
_TYPES = {event_type.value: event_type for event_type in EventType}
_BLOCK = 5_000
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor, which would cost as much as the rest of a row."""

_BASE = """event_type, source_rule, obs_context_id, stream, line_num, timestamp, clock, node, rank, device, symptom,
    payload, source_datum, key_fields, fold, occurrences, samples, context, overflow, node_declared"""
_REST = """first_ts, last_ts, last_stream, last_line, times, width,
    original_type, state, changed_by, explained_by, derived_from"""
PLAIN = """last_stream IS NULL AND state = 'active' AND derived_from IS NULL AND clock = 'utc' AND timestamp IS NOT NULL
    AND fold IS NULL AND overflow = 0 AND occurrences = 1"""
"""Rows that are one line on the UTC clock and nothing else; see ``stored``."""
_READ_OTHERS = f"SELECT {_BASE}, {_REST} FROM events WHERE NOT ({PLAIN})"  # noqa: S608 -- our columns
_READ_ONE = f"SELECT {_BASE}, {_REST} FROM events WHERE id = ?"  # noqa: S608 -- our columns
_IN_ORDER = itemgetter(*(EVENT_COLUMNS.index(name.strip()) for name in f"{_BASE}, {_REST}".split(",")))
_LAST_STREAM, _STATE, _DERIVED = (EVENT_COLUMNS.index(name) for name in ("last_stream", "state", "derived_from"))


def _times_of(runs: list[list[int]]) -> dict[int, int]:
    return {run[0] + index: count for run in runs for index, count in enumerate(run[1:])}


def read_others(connection: sqlite3.Connection, names: Names) -> list[Event]:
    """Fresh events of all rows that are not ``PLAIN``, in the table's order."""
    events: list[Event] = []
    for block in _blocks(connection.execute(_READ_OTHERS)):
        events += _whole(block, names)
    return events


def read_rows(connection: sqlite3.Connection, names: Names, ids: Iterable[int]) -> list[Event]:
    """Fresh events of some rows, nothing left to be fetched."""
    return _whole([connection.execute(_READ_ONE, (key,)).fetchone() for key in ids], names)


def _whole(rows: list[Row], names: Names) -> list[Event]:
    events = _decode(rows, names)
    for event, row in zip(events, rows, strict=True):
        _fill(event, row, names)
    return events


def events_of_named(rows: Iterable[Sequence[Any]]) -> list[Event]:
    """Fresh events of rows in the order of ``EVENT_COLUMNS`` that hold names where the table holds ids."""
    singles: list[Row] = []
    others: list[Row] = []
    for row in rows:
        single = row[_LAST_STREAM] is None and row[_STATE] == "active" and row[_DERIVED] is None
        (singles if single else others).append(_IN_ORDER(row))
    names = _NamesThemselves()
    return _decode(singles, names) + _whole(others, names)


class Names:
    """What the ids of the lookup columns stand for."""

    __slots__ = ("nodes", "observations", "rules", "streams", "symptoms", "types")

    def __init__(self, lookups: Lookups) -> None:
        self.types: dict[int, str] = {key: _TYPES.get(name, name) for key, name in lookups.names("event_types").items()}
        self.rules = lookups.names("rules")
        self.streams = lookups.names("streams")
        self.observations = lookups.observations()
        self.nodes: dict[Any, str | None] = {None: None, **lookups.names("nodes")}
        self.symptoms: dict[Any, str | None] = {None: None, **lookups.names("symptoms")}


class _NamesThemselves(Names):
    """For rows that hold names already; an observation is the pair of its id and its source."""

    __slots__ = ()

    def __init__(self) -> None:
        same = Same()
        self.types = Same(_TYPES)
        self.rules = self.streams = self.nodes = self.symptoms = same
        self.observations = _Pairs()


class _Pairs(dict[Any, Any]):
    """Pairs are no keys that a dictionary could hold: they come back as they are."""

    def __getitem__(self, key: Any) -> Any:
        return key


def _blocks(cursor: sqlite3.Cursor) -> Iterator[list[Row]]:
    while block := cursor.fetchmany(_BLOCK):
        yield block


def _decode(rows: list[Row], names: Names) -> list[Event]:
    """Events of rows as if each were a single line; ``_fill`` corrects the others."""
    payloads = iter(_parsed([row[11] for row in rows if row[11] is not None]))
    keys = iter(_parsed([row[13] for row in rows if row[13] is not None]))
    contexts = iter(_parsed([row[17] for row in rows if row[17] is not None]))
    events = []
    for row in rows:
        event_type, rule, observation, stream_id, line_num, timestamp, clock, node, rank, device = row[:10]
        symptom, payload, datum, key, fold, occurrences, digest, context, overflow, declared = row[10:20]
        observation_id, source = names.observations[observation]
        stream = names.streams[stream_id]
        position = _bare(Position, (timestamp, stream, line_num))
        before, after = ((), ()) if context is None else next(contexts)
        event = Event(
            names.types[event_type],
            names.rules[rule],
            source,
            stream,
            line_num,
            timestamp,
            _CLOCKS[clock],
            names.nodes[node],
            rank,
            device,
            names.symptoms[symptom],
            {} if payload is None else next(payloads),
            datum,
            observation_id,
            () if key is None else tuple(next(keys)),
            fold or "",
            occurrences,
            position,
            position,
            {} if timestamp is None else {timestamp // _MINUTE: occurrences},
            1,
            (_bare(Sample, (timestamp, stream, line_num, digest, datum)),),
            tuple(before),
            tuple(after),
            overflow,
        )
        event.node_declared = declared == 1
        events.append(event)
    return events


def _fill(event: Event, row: Row, names: Names) -> None:
    """Set what only a folded or changed row has."""
    first_ts, last_ts, last_stream, last_line, times, width, original, state, changed_by, explained, derived = row[20:]
    if last_stream is not None:
        event.samples = tuple(Sample(*sample) for sample in from_json(row[16]))
        first = event.samples[0][:3] if event.samples else (first_ts, event.stream, event.line_num)
        event.first = Position(*first)
        event.last = Position(last_ts, names.streams[last_stream], last_line)
        event.times = _times_of(from_json(times))
        event.width = width
    event.original_type = None if original is None else names.types[original]
    event.state = EventState(state)
    event.changed_by = changed_by
    event.explained_by = None if explained is None else ExplainedBy(*from_json(explained))
    event.derived_from = derived


def _parsed(texts: list[str]) -> list[Any]:
    """Many JSON texts read as one."""
    values: list[Any] = from_json("[" + ",".join(texts) + "]")
    return values
