"""The mechanism behind cascade refiners: *A explains B*, with a direction, a scope and a time rule."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from attribution_lib.events.stream import event_order
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.rules.contexts import RefinerContext
    from attribution_lib.rules.registry import SymptomMatcher

__all__ = ["Cascade", "CascadeScope", "Order", "apply_cascade"]

_MICROSECONDS = 1_000_000


class CascadeScope(StrEnum):
    """Where a cause reaches: the same device, the same rank, the same node, or anywhere in the job.

    Lines of one system log that names no host come from one machine, whichever it is: the log stands for its node.
    """

    DEVICE = "device"
    RANK = "rank"
    NODE = "node"
    JOB = "job"


class Order(StrEnum):
    """Whether a cause must come first, or is a fact that counts whenever it is seen."""

    BEFORE = "before"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Cascade:
    """One documented relation. ``slack`` seconds allow for clocks that differ; ``within`` seconds bound the reach."""

    name: str
    causes: Sequence[SymptomMatcher]
    consequences: Sequence[SymptomMatcher]
    scope: CascadeScope
    order: Order = Order.BEFORE
    slack: int = 60
    within: int | None = None


def apply_cascade(cascade: Cascade, context: RefinerContext) -> None:
    """Discard every bad event that a cause in scope explains, naming the cause.

    A symptom never explains itself. Where times are missing, stream order decides within a stream; across streams only
    an ``Order.ANY`` cascade applies, and the clearing counts as uncertain.
    """
    causes = context.registry.resolve(cascade.causes)
    consequences = context.registry.resolve(cascade.consequences)
    causes_of: dict[Hashable, list[Event]] = {}
    for event in context.my_bad_nodes:
        if event.symptom in causes and event.state == "active":
            place = _place(event, cascade.scope)
            if place is not None:
                causes_of.setdefault(place, []).append(event)
    if not causes_of:
        return
    by_place: dict[Hashable, _Causes] = {}
    for event in context.my_bad_nodes:
        if event.symptom not in consequences or event.state != "active":
            continue
        place = _place(event, cascade.scope)
        if place not in causes_of:
            continue
        causes_here = by_place.get(place)
        if causes_here is None:
            causes_here = by_place[place] = _Causes.of(causes_of[place])
        found = causes_here.first_of(event, cascade)
        if found is not None:
            cause, certain = found
            context.event_stream.discard(event, by=cascade.name, explained_by=cause, uncertain=not certain)


def _place(event: Event, scope: CascadeScope) -> Hashable | None:
    match scope:
        case CascadeScope.JOB:
            return "job"
        case CascadeScope.NODE:
            return _machine(event)
        case CascadeScope.RANK:
            return None if event.rank is None else ("rank", event.rank)
        case CascadeScope.DEVICE:
            machine = _machine(event)
            return None if machine is None or event.device is None else (machine, event.device)


def _machine(event: Event) -> Hashable | None:
    if event.node is None and event.source == Source.SYSLOG:
        return ("stream", event.stream)
    return event.node


@dataclass(slots=True)
class _Causes:
    """The causes of one place by symptom, the earliest first: by time, and by line within a stream.

    A cause that is discarded on the way never comes back, so it is dropped from the front for good.
    """

    ordered: dict[str, deque[Event]] = field(default_factory=dict)
    timed: dict[str, deque[Event]] = field(default_factory=dict)
    in_stream: dict[tuple[str, str, str], deque[Event]] = field(default_factory=dict)
    untimed: dict[tuple[str, str, str], deque[Event]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Sequence[Event]) -> _Causes:
        """Sort events that come in event order."""
        found = cls()
        for event in events:
            symptom = event.symptom or ""
            found.ordered.setdefault(symptom, deque()).append(event)
            if event.first.timestamp is not None:
                found.timed.setdefault(symptom, deque()).append(event)
        for event in sorted(events, key=lambda event: event.first.line_num or 0):
            stream = (event.symptom or "", event.source, event.stream)
            found.in_stream.setdefault(stream, deque()).append(event)
            if event.first.timestamp is None:
                found.untimed.setdefault(stream, deque()).append(event)
        return found

    def first_of(self, event: Event, cascade: Cascade) -> tuple[Event, bool] | None:
        """The first cause that explains the event, and whether it surely came in time."""
        found: list[tuple[Event, bool]] = []
        for symptom in self.ordered:
            if symptom == event.symptom:
                continue
            for cause in self._candidates(symptom, event, cascade):
                certain = _explains_in_time(cause, event, cascade)
                if certain is not None:
                    found.append((cause, certain))
                    break
        return min(found, key=lambda pair: event_order(pair[0]), default=None)

    def _candidates(self, symptom: str, event: Event, cascade: Cascade) -> Iterable[Event]:
        """The earlier a cause, the more it explains; only a bounded reach needs to look at all of them."""
        if cascade.within is not None:
            return (cause for cause in self.ordered[symptom] if cause.state == "active")
        if cascade.order is Order.ANY:
            return _first_active(self.ordered[symptom])
        stream = (symptom, event.source, event.stream)
        if event.first.timestamp is None:
            return _first_active(self.in_stream.get(stream))
        return (*_first_active(self.timed.get(symptom)), *_first_active(self.untimed.get(stream)))


def _first_active(events: deque[Event] | None) -> Sequence[Event]:
    while events and events[0].state != "active":
        events.popleft()
    return (events[0],) if events else ()


def _explains_in_time(cause: Event, event: Event, cascade: Cascade) -> bool | None:
    """True: in time. False: applies, but time was missing. None: does not apply."""
    if cause.first.timestamp is not None and event.first.timestamp is not None:
        delay = event.first.timestamp - cause.first.timestamp
        if cascade.order is Order.BEFORE and delay < -cascade.slack * _MICROSECONDS:
            return None
        if cascade.within is not None and abs(delay) > cascade.within * _MICROSECONDS:
            return None
        return True
    if cause.source == event.source and cause.stream == event.stream:
        in_order = (cause.first.line_num or 0) <= (event.first.line_num or 0)
        return True if in_order or cascade.order is Order.ANY else None
    return False if cascade.order is Order.ANY else None
