"""Rows of the ``events`` table from events, and events from rows.

Most rows are single lines: what such a row repeats (positions, minute, sample) is left out and put back on reading, and
JSON columns are read in blocks, so that 200,000 rows load in well under a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from attribution_lib.events.event import Clock, Event, EventState, EventType, ExplainedBy, Position, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.events.lookups import Lookups

__all__ = ["Row", "decode_rows", "encode_event"]

_MINUTE = 60_000_000
_CLOCKS = {clock.value: clock for clock in Clock}
_STATES = {state.value: state for state in EventState}
_TYPES = {event_type.value: event_type for event_type in EventType}

Row = tuple[Any, ...]
"""Values of ``EVENT_COLUMNS``; lookups as ids."""


def encode_event(event: Event, lookups: Lookups) -> Row:
    """The row of a seeded event; names new to the lookups are added to them."""
    single = _is_single(event)
    first, last = event.first, event.last
    return (
        lookups.id_of("event_types", event.event_type),
        None if event.original_type is None else lookups.id_of("event_types", event.original_type),
        lookups.id_of("rules", event.rule),
        lookups.observation_of(event.observation_id, event.source),
        event.stream,
        event.line_num,
        event.timestamp,
        event.clock.value,
        None if event.node is None else lookups.id_of("nodes", event.node),
        event.rank,
        event.device,
        None if event.symptom is None else lookups.id_of("symptoms", event.symptom),
        _json(event.payload) if event.payload else None,
        event.datum,
        _json(event.key_fields) if event.key_fields else None,
        event.fold or None,
        event.occurrences,
        first.timestamp,
        last.timestamp,
        None if single else last.stream,
        None if single else last.line_num,
        None if single else _json(dict(sorted(event.times.items()))),
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


def _json(value: Any) -> str:
    return to_json(value, fallback=str).decode()


def decode_rows(rows: Sequence[Row], lookups: Lookups) -> list[Event]:
    """Fresh events of many rows, in their order."""
    payloads = iter(_block([row[12] for row in rows if row[12] is not None]))
    rules, nodes, symptoms = lookups.names("rules"), lookups.names("nodes"), lookups.names("symptoms")
    types = {key: _TYPES.get(name, name) for key, name in lookups.names("event_types").items()}
    observations = lookups.observations()
    events = []
    for row in rows:
        observation_id, source = observations[row[3]]
        event = Event(
            types[row[0]],
            rules[row[2]],
            source,
            row[4],
            row[5],
            row[6],
            _CLOCKS[row[7]],
            None if row[8] is None else nodes[row[8]],
            row[9],
            row[10],
            None if row[11] is None else symptoms[row[11]],
            {} if row[12] is None else next(payloads),
            row[13],
            observation_id,
        )
        event.occurrences = row[16]
        if row[19] is None:
            _fill_single(event, row)
        else:
            _fill_folded(event, row)
        if row[14] is not None:
            event.key_fields = tuple(from_json(row[14]))
        if row[24] is not None:
            before, after = from_json(row[24])
            event.context_before, event.context_after = tuple(before), tuple(after)
        if row[15] is not None:
            event.fold = row[15]
        event.overflow = row[25]
        event.node_declared = row[30] == 1
        if row[26] != "active" or row[29] is not None:
            _fill_changes(event, row, types)
        events.append(event)
    return events


def _fill_single(event: Event, row: Row) -> None:
    timestamp, stream, line_num = row[6], row[4], row[5]
    event.first = event.last = Position(timestamp, stream, line_num)
    if timestamp is not None:
        event.times = {timestamp // _MINUTE: row[16]}
    event.samples = (Sample(timestamp, stream, line_num, row[23], row[13]),)


def _fill_folded(event: Event, row: Row) -> None:
    event.samples = tuple(Sample(*sample) for sample in from_json(row[23]))
    if event.samples:
        event.first = Position(*event.samples[0][:3])
    else:
        event.first = Position(row[17], row[4], row[5])
    event.last = Position(row[18], row[19], row[20])
    event.times = {int(bucket): count for bucket, count in from_json(row[21]).items()}
    event.width = row[22]


def _fill_changes(event: Event, row: Row, types: dict[int, str]) -> None:
    event.original_type = None if row[1] is None else types[row[1]]
    event.state = _STATES[row[26]]
    event.changed_by = row[27]
    event.explained_by = None if row[28] is None else ExplainedBy(*from_json(row[28]))
    event.derived_from = row[29]


def _block(texts: list[str]) -> list[Any]:
    """Many JSON texts read as one."""
    parsed: list[Any] = from_json("[" + ",".join(texts) + "]")
    return parsed
