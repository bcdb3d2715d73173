"""Reading many rows of the ``events`` table at once.

Nearly all rows of a large job are single lines on the UTC clock. Of those only what every phase looks at becomes an
event's attributes; payload and minute are worked out when asked for, sample, lines around and the line itself are
fetched then. Only a program's own lines are kept at once: many rules read their text.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from attribution_lib.events.codec import PLAIN, read_others
from attribution_lib.events.event import Clock, Event, EventState, Position, Sample
from attribution_lib.events.ordered import by_kind
from attribution_lib.observation import Source

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from attribution_lib.events.codec import Names
    from attribution_lib.events.ordered import EventsByKind, Kind

__all__ = ["StoredRows"]

_RULE, _SYMPTOM, _DECLARED = 8, 28, 48
_STREAM = 32
# A column costs as much as a row, so that the ids that many rows share come as two numbers.
_READ = f"""SELECT id,
    event_type | (source_rule << {_RULE}) | (coalesce(symptom, 0) << {_SYMPTOM}) | (node_declared << {_DECLARED}),
    obs_context_id | (stream << {_STREAM}),
    line_num, timestamp, node, rank, device, payload, source_datum, key_fields
FROM events WHERE {PLAIN}"""  # noqa: S608 -- our columns
_REST = "SELECT samples, context, source_datum FROM events WHERE id = ?"
_REST_OF_ALL = f"SELECT id, samples, context, source_datum FROM events WHERE {PLAIN}"  # noqa: S608 -- our columns
_MINUTE = 60_000_000
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor, which would cost as much as the rest of a row."""
_Row = tuple[Any, ...]


class StoredRows:
    """The plain rows of a table, and what their events have not read of them yet."""

    __slots__ = ("__weakref__", "_connection", "_names", "_rest")

    def __init__(self, connection: sqlite3.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._rest: dict[int, _Row] | None = None

    def read(self, count: int) -> EventsByKind:
        """Fresh events of all ``count`` rows; of each kind in the table's order, plain ones first."""
        kinds = self._read_plain()
        if sum(map(len, kinds.values())) != count:
            for kind, events in by_kind(read_others(self._connection, self._names)).items():
                kinds.setdefault(kind, []).extend(events)
        return kinds

    def _read_plain(self) -> EventsByKind:
        nodes, kind_of, origin_of, key_of = self._names.nodes, _Known(self._kind), _Known(self._origin), _Known(_key)
        make, utc, active, program = Event.__new__, Clock.UTC, EventState.ACTIVE, Source.APPLOG
        kinds: defaultdict[Kind, list[Event]] = defaultdict(list)
        known_kind = known_origin = None
        rows = self._connection.execute(_READ)
        for number, kind, origin, line_num, timestamp, node, rank, device, payload, datum, key in rows:
            if kind != known_kind or origin != known_origin:  # neighbours are often alike
                known_kind, known_origin = kind, origin
                event_type, rule, symptom, declared = kind_of[kind]
                observation_id, source, stream = origin_of[origin]
                add = kinds[event_type, rule, symptom, source].append
                with_text = source == program
            event = make(Event)
            event.event_type, event.rule, event.symptom, event.node_declared = event_type, rule, symptom, declared
            event.observation_id, event.source, event.stream = observation_id, source, stream
            event.line_num, event.timestamp, event.clock = line_num, timestamp, utc
            event.node, event.rank, event.device = nodes[node], rank, device
            if with_text:
                event.datum = datum
            event.key_fields = () if key is None else key_of[key]
            event.fold, event.occurrences, event.width, event.overflow = "", 1, 1, 0
            event.first = event.last = _bare(Position, (timestamp, stream, line_num))
            event.state = active
            event.original_type = event.changed_by = event.explained_by = event.derived_from = None
            event.table, event.row, event.text = self, number, payload or ""  # type: ignore[misc] # slots of the base class
            add(event)
        return dict(kinds)

    def settle(self) -> None:
        """Read what is left while the rows are still there."""
        if self._rest is None:
            self._rest = {row[0]: row[1:] for row in self._connection.execute(_REST_OF_ALL)}

    def _kind(self, number: int) -> _Row:
        names = self._names
        symptom = number >> _SYMPTOM & 0xFFFFF
        return (
            names.types[number & 0xFF],
            names.rules[number >> _RULE & 0xFFFFF],
            names.symptoms[symptom or None],
            number >> _DECLARED == 1,
        )

    def _origin(self, number: int) -> _Row:
        names = self._names
        return (*names.observations[number & 0xFFFFFFFF], names.streams[number >> _STREAM])

    def value(self, name: str, event: Event) -> Any:
        """One of the attributes that ``read`` leaves unset."""
        match name:
            case "payload":
                return from_json(event.text) if event.text else {}
            case "times":
                return {(event.timestamp or 0) // _MINUTE: 1}
            case "datum":
                return self._rest_of(event.row)[2]
            case "samples":
                digest = self._rest_of(event.row)[0]
                return (_bare(Sample, (event.timestamp, event.stream, event.line_num, digest, event.datum)),)
            case _:
                text = self._rest_of(event.row)[1]
                before, after = ((), ()) if text is None else from_json(text)
                return tuple(before if name == "context_before" else after)

    def _rest_of(self, key: int) -> _Row:
        if self._rest is not None:
            return self._rest[key]
        found: _Row = self._connection.execute(_REST, (key,)).fetchone()
        return found


class _Known(dict[Any, Any]):
    """What numbers and texts that many rows share stand for, each worked out once."""

    def __init__(self, meaning: Callable[[Any], Any]) -> None:
        super().__init__()
        self._meaning = meaning

    def __missing__(self, shared: Any) -> Any:
        found = self[shared] = self._meaning(shared)
        return found


def _key(text: str) -> tuple[str, ...]:
    return tuple(from_json(text))
