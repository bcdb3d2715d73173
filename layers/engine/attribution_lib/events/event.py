"""One row that an extractor, a filter or the scheduler's facts produced, and the values it is made of."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ACTIVE",
    "BAD_NODE",
    "DISCARDED",
    "UTC",
    "Clock",
    "Event",
    "EventOrder",
    "EventState",
    "EventType",
    "ExplainedBy",
    "Position",
    "Sample",
    "order_of",
]

_INFINITY = float("inf")


class EventType(StrEnum):
    """The well-known event types that later phases branch on."""

    BAD_NODE = "Attribution.node.bad"
    INTERESTING_NODE = "Attribution.node.interesting"
    BAD_PEERS = "Attribution.node.bad_peers"
    JOB_INFO = "Attribution.job.info"
    JOB_STOP = "Attribution.job.stop"
    SCHEDULER_STATE = "Attribution.scheduler.state"
    MAPPING = "Attribution.mapping"
    BOOT = "Attribution.boot"
    METRIC = "Attribution.metric"
    """A mergeable summary of one metric series; becomes a node event at attribution."""


class EventState(StrEnum):
    """What the phases made of an event; no row is ever deleted."""

    ACTIVE = "active"
    DEMOTED = "demoted"
    DISCARDED = "discarded"


class Clock(StrEnum):
    """How a line's stamp was written. Stamps are kept as read; the first EARLY step converts them to UTC."""

    UTC = "utc"
    LOCAL = "local"
    """No zone: read in ``job.timezone``. Held as µs as if it were UTC."""
    YEARLESS = "yearless"
    """No year and no zone. Held as µs in the year 1972."""
    UPTIME = "uptime"
    """Seconds since the host booted. Held as µs since boot."""
    NONE = "none"


ACTIVE, DISCARDED, BAD_NODE, UTC = EventState.ACTIVE, EventState.DISCARDED, EventType.BAD_NODE, Clock.UTC
"""What every row of a large job is compared with: looking a member up in its enum costs more than the comparison."""


class Position(NamedTuple):
    """Where and when something stands: the order of evidence. ``timestamp`` in µs on the event's clock or None."""

    timestamp: int | None
    stream: str
    line_num: int | None

    def order(self) -> tuple[float, str, int]:
        """Sort key: null times last."""
        return (float("inf") if self.timestamp is None else self.timestamp, self.stream, self.line_num or 0)


EventOrder = tuple[float, str, str, int, str, int, str, str]


class Sample(NamedTuple):
    """One concrete occurrence kept as proof; ``digest`` breaks ties."""

    timestamp: int | None
    stream: str
    line_num: int | None
    digest: str
    datum: str

    def order(self) -> tuple[float, str, int, str]:
        """Sort key: null times last."""
        return (
            float("inf") if self.timestamp is None else self.timestamp,
            self.stream,
            self.line_num or 0,
            self.digest,
        )


class ExplainedBy(NamedTuple):
    """Who explains a discarded event: a symptom of a source on a node; never a row id."""

    symptom: str
    source: str
    node: str | None


class StoredTable(Protocol):
    """What an event that was read from a table fetches the rest of itself from."""

    def value(self, name: str, event: Event) -> Any:
        """One of the ``LATER`` attributes of an event that was read from the table."""
        ...


LATER = frozenset({"payload", "datum", "samples", "times", "context_before", "context_after"})
"""What may be left unset until somebody asks."""


class _Later:
    """What an event works out, or has its table fill in, when it is first asked for."""

    __slots__ = ("order", "row", "table", "text")
    order: EventOrder
    """Where the event stands among all: time (null last), source, stream, line, node, rank, symptom, rule."""
    table: StoredTable
    row: int
    """The row's id; set, with the table, where an event was read from one."""
    text: str | None
    """The payload as JSON where it was read from a table; empty where that has none."""

    def moved(self) -> None:
        """Forget the order: the event stands elsewhere now."""
        with suppress(AttributeError):
            del self.order

    if not TYPE_CHECKING:  # a type checker would take every misspelt attribute for one of these

        def __getattr__(self, name: str) -> Any:
            if name == "order":
                value = order_of(self)
            elif name == "text":
                value = None
            elif name in LATER:
                value = self.table.value(name, self)
            else:
                msg = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(msg)
            setattr(self, name, value)
            return value


@dataclass(slots=True, eq=False)
class Event(_Later):
    """One (folded) event. Only the event store and the event stream may write to it."""

    event_type: str
    rule: str
    source: str
    stream: str
    line_num: int | None
    timestamp: int | None
    clock: Clock
    node: str | None
    rank: int | None
    device: str | None
    symptom: str | None
    payload: Mapping[str, Any]
    """Captures and emitted extras; ``node`` and ``symptom`` are added on output (S0)."""
    datum: str
    """≤ 4 KiB around the match, normalised."""
    observation_id: str = ""
    key_fields: tuple[str, ...] = ()
    """Values of the fields that the rule lists in ``key``."""
    fold: str = ""
    """``last`` or ``max`` for progress and versions; empty otherwise."""
    occurrences: int = 1
    first: Position = Position(None, "", None)
    last: Position = Position(None, "", None)
    times: dict[int, int] = field(default_factory=dict)
    """{bucket: occurrences}; a bucket is ``width`` minutes of the event's clock."""
    width: int = 1
    samples: tuple[Sample, ...] = ()
    context_before: tuple[str, ...] = ()
    context_after: tuple[str, ...] = ()
    overflow: int = 0
    state: EventState = EventState.ACTIVE
    original_type: str | None = None
    changed_by: str | None = None
    explained_by: ExplainedBy | None = None
    derived_from: str | None = None
    """The rule whose event this one was derived from."""
    node_declared: bool = False
    """True when the producer (entry, stream or line prefix) named the node; False when a fallback placed it."""

    def __copy__(self) -> Event:
        """An event of the same content, which may be put elsewhere; what was not yet filled in stays so."""
        made = Event.__new__(Event)
        for name in _COPIED:
            with suppress(AttributeError):
                setattr(made, name, object.__getattribute__(self, name))
        return made

    def may_say(self, text: str) -> bool:
        """Whether the payload may hold this text; false says that it surely does not, without decoding it."""
        return self.text is None or text in self.text


_COPIED = tuple(name for name in (*Event.__slots__, *_Later.__slots__) if name != "order")


def order_of(event: Event) -> EventOrder:
    """The order of an event as it is now; ``Event.order`` is that of the place it had when it was first asked."""
    return (
        _INFINITY if event.timestamp is None else event.timestamp,
        event.source,
        event.stream,
        event.line_num or 0,
        event.node or "",
        -1 if event.rank is None else event.rank,
        event.symptom or "",
        event.rule,
    )
