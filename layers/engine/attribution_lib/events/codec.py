"""Rows of the ``events`` table from events, and events from rows.

Most rows are single lines: what such a row repeats (positions, minute, sample) is left out and put back on reading, and
JSON columns are read in blocks, so that 200,000 rows load in about a second.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import from_json, to_json

from attribution_lib.events.event import Clock, Event, EventState, EventType, ExplainedBy, Position, Sample
from attribution_lib.events.schema import EVENT_COLUMNS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_lib.events.lookups import Lookups

__all__ = ["INSERT", "PLAIN", "Names", "Naming", "Row", "encode_event", "events_of_named", "read_others", "read_rows"]

_MINUTE = 60_000_000
_CLOCKS = {clock.value: clock for clock in Clock}
_TYPES = {event_type.value: event_type for event_type in EventType}
_BLOCK = 5_000
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor, which would cost as much as the rest of a row."""

Row = tuple[Any, ...]
"""Values of ``EVENT_COLUMNS``; lookups as ids."""

_BASE = """event_type, source_rule, obs_context_id, stream, line_num, timestamp, clock, node, rank, device, symptom,
    payload, source_datum, key_fields, fold, occurrences, samples, context, overflow, node_declared"""
_REST = """first_ts, last_ts, last_stream, last_line, times, width,
    original_type, state, changed_by, explained_by, derived_from"""
PLAIN = """last_stream IS NULL AND state = 'active' AND derived_from IS NULL AND clock = 'utc' AND timestamp IS NOT NULL
    AND fold IS NULL AND overflow = 0 AND occurrences = 1"""
"""Rows that are one line on the UTC clock and nothing else; see ``stored``."""
_READ_OTHERS = f"SELECT {_BASE}, {_REST} FROM events WHERE NOT ({PLAIN})"  # noqa: S608 -- our columns
_READ_ONE = f"SELECT {_BASE}, {_REST} FROM events WHERE id = ?"  # noqa: S608 -- our columns
INSERT = f"INSERT INTO events ({', '.join(EVENT_COLUMNS)}) VALUES ({', '.join('?' * len(EVENT_COLUMNS))})"  # noqa: S608 -- our columns
"""Of one ``Row``."""
_IN_ORDER = itemgetter(*(EVENT_COLUMNS.index(name.strip()) for name in f"{_BASE}, {_REST}".split(",")))
_LAST_STREAM, _STATE, _DERIVED = (EVENT_COLUMNS.index(name) for name in ("last_stream", "state", "derived_from"))


class Naming(Protocol):
    """What stands in a row for a name, and for an observation: ids of the database (``Lookups``), or the names."""

    def id_of(self, table: str, name: str, /) -> int | str:
        """Of a name."""

    def observation_of(self, observation_id: str, source: str, /) -> int | tuple[str, str]:
        """Of an observation."""


def encode_event(event: Event, lookups: Naming) -> Row:
    """The row of a seeded event; names new to the lookups are added to them."""
    single = _is_single(event)
    first, last, id_of = event.first, event.last, lookups.id_of
    return (
        id_of("event_types", event.event_type),
        None if event.original_type is None else id_of("event_types", event.original_type),
        id_of("rules", event.rule),
        lookups.observation_of(event.observation_id, event.source),
        id_of("streams", event.stream),
        event.line_num,
        event.timestamp,
        event.clock.value,
        None if event.node is None else id_of("nodes", event.node),
        event.rank,
        event.device,
        None if event.symptom is None else id_of("symptoms", event.symptom),
        _json(event.payload) if event.payload else None,
        event.datum,
        _json(event.key_fields) if event.key_fields else None,
        event.fold or None,
        event.occurrences,
        first.timestamp,
        last.timestamp,
        None if single else id_of("streams", last.stream),
        None if single else last.line_num,
        None if single else _json(_runs(event.times)),
        event.width,
        event.samples[0].digest if single else _json(event.samples),
        _json((event.context_before, event.context_after)) if event.context_before or event.context_after else None,
        event.overflow,
        event.state.value,
        event.changed_by,
        None if event.explained_by is None else _json(event.explained_by),
        event.derived_from,
        int(event.node_declared),
    )


def _is_single(event: Event) -> bool:
    """Whether positions, minute and sample say nothing that the row itself does not say."""
    if len(event.samples) != 1 or event.first != event.last or event.width != 1:
        return False
    timestamp, position = event.timestamp, (event.timestamp, event.stream, event.line_num)
    sample = event.samples[0]
    times = {} if timestamp is None else {timestamp // _MINUTE: event.occurrences}
    return event.first == position and sample[:3] == position and sample.datum == event.datum and event.times == times


def _runs(times: dict[int, int]) -> list[list[int]]:
    """A histogram as ``[first bucket, count, count, …]`` a stretch of neighbouring buckets: counts alone may grow."""
    runs: list[list[int]] = []
    due = None
    for bucket in sorted(times):
        if bucket == due:
            runs[-1].append(times[bucket])
        else:
            runs.append([bucket, times[bucket]])
        due = bucket + 1
    return runs


def _times_of(runs: list[list[int]]) -> dict[int, int]:
    return {run[0] + index: count for run in runs for index, count in enumerate(run[1:])}


def _json(value: Any) -> str:
    return to_json(value, fallback=str).decode()


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


class _Same(dict[Any, Any]):
    """Every key stands for itself."""

    def __missing__(self, key: Any) -> Any:
        return key


class _NamesThemselves(Names):
    """For rows that hold names already; an observation is the pair of its id and its source."""

    __slots__ = ()

    def __init__(self) -> None:
        same = _Same()
        self.types = _Same(_TYPES)
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
