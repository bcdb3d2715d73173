"""Rows of the ``events`` table from events; see ``codec`` for the other way.

Most rows are single lines: what such a row repeats (positions, minute, sample) is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import to_json

from attribution_lib.events.event import ACTIVE, UTC
from attribution_lib.events.fold import digest_of_text, seed
from attribution_lib.events.lookups import Same
from attribution_lib.events.schema import EVENT_COLUMNS
from attribution_lib.events.series import SERIES_FOLD

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attribution_lib.events.event import Event
    from attribution_lib.events.lookups import Lookups

__all__ = ["Naming", "Row", "encode_event", "insert_events"]

_MINUTE = 60_000_000
_PLACES = ", ".join("?" * len(EVENT_COLUMNS))
_INSERT = f"INSERT INTO events (id, {', '.join(EVENT_COLUMNS)}) VALUES (?, {_PLACES})"  # noqa: S608 -- our columns
"""Of an id and one ``Row``."""
_INSERT_FRESH = """INSERT INTO events (id, event_type, source_rule, obs_context_id, stream, line_num, timestamp, clock,
    node, rank, device, symptom, payload, source_datum, key_fields, fold, occurrences, samples, context, node_declared,
    first_ts, last_ts, width, overflow, state) VALUES
    (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?7, ?7, 1, 0, 'active')
"""
"""Of a row that says nothing but what one line said; the columns that are left out are null."""

Row = tuple[Any, ...]
"""Values of ``EVENT_COLUMNS``; lookups as ids."""


class Naming(NamedTuple):
    """What stands in a row for a name, and for an observation: ids of the database, or the names themselves."""

    event_types: Mapping[str, Any]
    rules: Mapping[str, Any]
    streams: Mapping[str, Any]
    nodes: Mapping[str, Any]
    symptoms: Mapping[str, Any]
    observation_of: Callable[[str, str], int | tuple[str, str]]
    """Of an observation's id and its source."""

    @classmethod
    def of(cls, lookups: Lookups) -> Naming:
        """Ids; names that are new get one, and are to be written after the rows."""
        ids = lookups.ids
        named = ids["event_types"], ids["rules"], ids["streams"], ids["nodes"], ids["symptoms"]
        return cls(*named, lookups.observation_of)

    @classmethod
    def themselves(cls) -> Naming:
        """The names; of an observation the pair of its id and its source."""
        same = Same()
        return cls(same, same, same, same, same, lambda observation_id, source: (observation_id, source))


def insert_events(connection: sqlite3.Connection, events: Iterable[Event], lookups: Lookups) -> int:
    """Append the rows of events, and the names that are new with them; returns the first one's id, others follow."""
    first = int(connection.execute("SELECT coalesce(max(id), 0) + 1 FROM events").fetchone()[0])
    others: list[tuple[int, Event]] = []
    naming = Naming.of(lookups)
    connection.executemany(_INSERT_FRESH, _fresh_rows(enumerate(events, first), naming, others))
    connection.executemany(_INSERT, [(row, *encode_event(event, naming)) for row, event in others])
    lookups.write()
    return first


def _fresh_rows(events: Iterable[tuple[int, Event]], naming: Naming, others: list[tuple[int, Event]]) -> Iterator[Row]:
    """Rows of those events that are one occurrence and nothing else, as ``_INSERT_FRESH`` takes them."""
    types, rules, streams, nodes, symptoms, observation_of = naming
    held: Any = None
    encoded: str | None = None  # neighbours often say the same
    batch: str | None = None
    source: str | None = None
    observation: Any = None
    clock, clock_name = UTC, UTC.value  # asked of each, a member of an enum takes longer to say its value than all else
    for row, event in events:
        if event.samples or not _is_fresh(event):
            others.append((row, event))
            continue
        node, symptom, timestamp, datum = event.node, event.symptom, event.timestamp, event.datum
        if event.payload is not held:
            held = event.payload
            encoded = _json(held) if held else None
        if event.observation_id is not batch or event.source is not source:
            batch, source = event.observation_id, event.source
            observation = observation_of(event.observation_id, event.source)
        if event.clock is not clock:
            clock, clock_name = event.clock, event.clock.value
        yield (
            row,
            types[event.event_type],
            rules[event.rule],
            observation,
            streams[event.stream],
            event.line_num,
            timestamp,
            clock_name,
            None if node is None else nodes[node],
            event.rank,
            event.device,
            None if symptom is None else symptoms[symptom],
            encoded,
            datum,
            _json(event.key_fields) if event.key_fields else None,
            event.fold or None,
            event.occurrences,
            digest_of_text(datum),
            _context(event),
            int(event.node_declared),
        )


def _is_fresh(event: Event) -> bool:
    if event.state is not ACTIVE or event.overflow or event.fold == SERIES_FOLD:
        return False
    return not (event.original_type or event.changed_by or event.explained_by or event.derived_from)


def encode_event(event: Event, names: Naming) -> Row:
    """The row of an event; names new to lookups are added to them."""
    if not event.samples:
        seed(event)
    single = _is_single(event)
    first, last = event.first, event.last
    return (
        names.event_types[event.event_type],
        None if event.original_type is None else names.event_types[event.original_type],
        names.rules[event.rule],
        names.observation_of(event.observation_id, event.source),
        names.streams[event.stream],
        event.line_num,
        event.timestamp,
        event.clock.value,
        None if event.node is None else names.nodes[event.node],
        event.rank,
        event.device,
        None if event.symptom is None else names.symptoms[event.symptom],
        _json(event.payload) if event.payload else None,
        event.datum,
        _json(event.key_fields) if event.key_fields else None,
        event.fold or None,
        event.occurrences,
        first.timestamp,
        last.timestamp,
        None if single else names.streams[last.stream],
        None if single else last.line_num,
        None if single else _json(_runs(event.times)),
        event.width,
        event.samples[0].digest if single else _json(event.samples),
        _context(event),
        event.overflow,
        event.state.value,
        event.changed_by,
        None if event.explained_by is None else _json(event.explained_by),
        event.derived_from,
        int(event.node_declared),
    )


def _context(event: Event) -> str | None:
    before, after = event.context_before, event.context_after
    return _json((before, after)) if before or after else None


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


def _json(value: Any) -> str:
    return to_json(value, fallback=str).decode()
