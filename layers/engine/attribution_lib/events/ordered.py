"""Lists of events in event order, and indexes made of such lists."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import order_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attribution_lib.events.event import Event, EventOrder

__all__ = ["EventIndex", "OrderedEvents", "event_order", "in_order", "indexes_of"]

event_order: Callable[[Event], EventOrder] = attrgetter("order")
"""The total order of events: time (null last), source, stream, line, node, rank, symptom, rule."""


def in_order(events: Iterable[Event]) -> list[Event]:
    """The events sorted; one that was moved since somebody asked for its order has forgotten that, see ``moved``."""
    found = list(events)
    timed = [event for event in found if event.timestamp is not None]
    if len(timed) == len(found):
        return _sorted(timed)
    return _sorted(timed) + _sorted([event for event in found if event.timestamp is None])


def _sorted(events: list[Event]) -> list[Event]:
    try:
        return sorted(events, key=_as_stored)
    except TypeError:  # a null met a value
        for event in events:
            event.order = order_of(event)  # type: ignore[misc] # a slot of the base class
        return sorted(events, key=event_order)


_as_stored = attrgetter("timestamp", "source", "stream", "line_num", "node", "rank", "symptom", "rule")
"""The event order of events that lack the same values: cheaper, and it leaves no tuple on each of a million."""


class OrderedEvents:
    """Events in order; what is added is sorted in when somebody looks, all at once."""

    __slots__ = ("_added", "_events")

    def __init__(self, events: list[Event]) -> None:
        """``events`` in order; the list is this object's from now on."""
        self._events = events
        self._added: list[Event] = []

    def add(self, event: Event) -> None:
        """Add one, wherever it belongs."""
        self._added.append(event)

    @property
    def events(self) -> list[Event]:
        """All of them; a list that is handed out is never changed afterwards."""
        if self._added:
            self._events = _merged(self._events, self._added)
            self._added = []
        return self._events


def _merged(events: list[Event], added: list[Event]) -> list[Event]:
    merged = events.copy()
    if len(added) == 1:
        insort(merged, added[0], key=event_order)
        return merged
    merged += added
    merged.sort(key=event_order)
    return merged


_INDEXED = ("symptom", "rule", "source", "event_type")


def indexes_of(events: list[Event]) -> dict[str, EventIndex]:
    """{attribute: index} of ``events``, which come in order: of all at once, since each look at an event costs."""
    groups: list[defaultdict[str | None, list[Event]]] = [defaultdict(list) for _ in _INDEXED]
    symptoms, rules, sources, types = groups
    for (symptom, rule, source, event_type), event in zip(map(attrgetter(*_INDEXED), events), events, strict=True):
        symptoms[symptom].append(event)
        rules[rule].append(event)
        sources[source].append(event)
        types[event_type].append(event)
    return {name: EventIndex(name, found) for name, found in zip(_INDEXED, groups, strict=True)}


class EventIndex:
    """Events by the value of one of their attributes; those that have none are left out."""

    __slots__ = ("_attribute", "_groups")

    def __init__(self, attribute: str, groups: Mapping[str | None, list[Event]]) -> None:
        """``groups`` are the events by the attribute, each in order."""
        self._attribute = attribute
        self._groups = {value: OrderedEvents(group) for value, group in groups.items() if value is not None}

    def add(self, event: Event) -> None:
        """Note an event under the value that it has now; it stays under any other that it had before."""
        value = getattr(event, self._attribute)
        if value is None:
            return
        group = self._groups.get(value)
        if group is None:
            self._groups[value] = OrderedEvents([event])
        else:
            group.add(event)

    def values(self) -> frozenset[str]:
        """Every value that some event has or had."""
        return frozenset(self._groups)

    def size(self, values: Iterable[str]) -> int:
        """How many events ``of`` would give."""
        return sum(len(self._groups[value].events) for value in values if value in self._groups)

    def of(self, values: Iterable[str]) -> list[Event]:
        """The events of these values, in order."""
        lists = [self._groups[value].events for value in sorted(values) if value in self._groups]
        if len(lists) == 1:
            return lists[0]
        return sorted((event for found in lists for event in found), key=event_order)
