"""Lists of events in event order, and events by their kind."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import order_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attribution_lib.events.event import Event, EventOrder

__all__ = ["EventsByKind", "Kind", "OrderedEvents", "by_kind", "event_order", "kind_of", "merged"]

event_order: Callable[[Event], EventOrder] = attrgetter("order")
"""The total order of events: time (null last), source, stream, line, node, rank, symptom, rule."""

Kind = tuple[str, str, str | None, str]
"""What rules and phases ask for events by: type, rule, symptom and source."""
EventsByKind = dict[Kind, "list[Event]"]
"""A large job has hundreds of thousands of events of a few dozen kinds: what a kind tells, no event is asked."""

kind_of: Callable[[Event], Kind] = attrgetter("event_type", "rule", "symptom", "source")


def by_kind(events: Iterable[Event]) -> EventsByKind:
    """The events kind by kind, each kind's in the order in which they come."""
    kinds: defaultdict[Kind, list[Event]] = defaultdict(list)
    for kind, run in groupby(events, kind_of):
        kinds[kind] += run
    return dict(kinds)


def merged(lists: Iterable[list[Event]]) -> list[Event]:
    """All events of some lists in order; where only one has any, that very list."""
    filled = [events for events in lists if events]
    return filled[0] if len(filled) == 1 else _in_order(list(chain.from_iterable(filled)), _as_stored)


def _in_order(events: list[Event], key: Callable[[Event], Any]) -> list[Event]:
    """The events sorted, by a key that takes no nulls among values where it can: that leaves no tuple on each of many.

    An event that was moved since somebody asked for its order has forgotten that, see ``moved``.
    """
    try:
        return _of_one_stream(events) if key is _within_kind and _each_on_a_line(events) else sorted(events, key=key)
    except TypeError:  # a null met a value
        timed = [event for event in events if event.timestamp is not None]
        if 0 < len(timed) < len(events):
            return _in_order(timed, key) + _in_order([event for event in events if event.timestamp is None], key)
    for event in events:
        event.order = order_of(event)  # type: ignore[misc] # a slot of the base class
    return sorted(events, key=event_order)


def _each_on_a_line(events: list[Event]) -> bool:
    """Whether events of one kind stand on lines of one stream, each on its own, as nearly all of a system log do."""
    return len(set(map(_line_of, events))) == len(events) and len(set(map(_stream_of, events))) == 1


def _of_one_stream(events: list[Event]) -> list[Event]:
    """Two sorts by a number, of what is nearly sorted, cost a third of one by a tuple."""
    return sorted(sorted(events, key=_line_of), key=_timestamp_of)


_timestamp_of, _stream_of, _line_of = attrgetter("timestamp"), attrgetter("stream"), attrgetter("line_num")
_as_stored = attrgetter("timestamp", "source", "stream", "line_num", "node", "rank", "symptom", "rule")
"""The event order of events that lack the same values."""
_within_kind = attrgetter("timestamp", "stream", "line_num", "node", "rank")
"""The same, of events of one kind."""


class OrderedEvents:
    """Events of one kind in order; they are sorted when somebody looks, all that came meanwhile at once."""

    __slots__ = ("_added", "_events")

    def __init__(self, events: list[Event]) -> None:
        """``events`` in any order; the list is this object's from now on."""
        self._events: list[Event] = []
        self._added = events

    def add(self, events: Iterable[Event]) -> None:
        """Add some, wherever they belong."""
        self._added += events

    @property
    def events(self) -> list[Event]:
        """All of them; a list that is handed out is never changed afterwards."""
        if self._added:
            self._events = _with(self._events, self._added)
            self._added = []
        return self._events

    def reorder(self) -> None:
        """Forget the order: some of the events stand elsewhere now."""
        self._added = [*self._events, *self._added]
        self._events = []


def _with(events: list[Event], added: list[Event]) -> list[Event]:
    if len(added) > 1 or not events:
        return _in_order(events + added, _within_kind)
    found = events.copy()
    insort(found, added[0], key=event_order)
    return found
