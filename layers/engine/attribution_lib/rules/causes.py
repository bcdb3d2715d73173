"""The events of one symptom in one place, and which of them is the first that explains another event."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from attribution_lib.events.event import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attribution_lib.events.event import Event

__all__ = ["Causes", "Order", "TimeRule"]

_MICROSECONDS = 1_000_000


class Order(StrEnum):
    """Whether a cause must come first, or is a fact that counts whenever it is seen."""

    BEFORE = "before"
    ANY = "any"


_CLOCKS = 60
"""Seconds by which clocks may differ, where a relation does not say."""
_ENDLESS = 2**63
"""Beyond any time in µs."""


@dataclass(frozen=True, slots=True)
class TimeRule:
    """When a cause explains an event; ``slack`` and ``within`` in µs, ``within`` None: no bound."""

    any_order: bool
    slack: int
    within: int | None

    @classmethod
    def of(cls, order: Order, slack: int | None, within: int | None) -> TimeRule:
        """``slack`` and ``within`` in seconds.

        ``slack`` None: as much as clocks differ, or where any order goes, without bound.
        """
        any_order = order is Order.ANY
        late = (_ENDLESS if any_order else _CLOCKS * _MICROSECONDS) if slack is None else slack * _MICROSECONDS
        return cls(any_order, late, None if within is None else within * _MICROSECONDS)

    def explains(self, cause: Event, event: Event) -> bool | None:
        """True: in time. False: applies, but time was missing. None: does not apply."""
        started, at = cause.first[0], event.first[0]
        if started is not None and at is not None:
            delay = at - started
            if delay < -self.slack:
                return None
            return None if self.within is not None and abs(delay) > self.within else True
        if cause.source == event.source and cause.stream == event.stream:
            in_order = self.any_order or (cause.first.line_num or 0) <= (event.first.line_num or 0)
            return True if in_order else None
        return False if self.any_order else None

    def latest(self, at: int) -> int:
        """The latest time of a cause that explains an event at ``at``; only where ``within`` is set."""
        return at + min(self.within or 0, self.slack)


class Causes:
    """Events of one symptom in one place, in event order, asked for the first that explains another."""

    __slots__ = ("_events", "_lookup")

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = list(events)
        self._lookup: _Lookup | None = None

    def first_for(self, event: Event, rule: TimeRule) -> tuple[Event, bool] | None:
        """The first active cause that explains an event, and whether it surely came in time."""
        candidates = self._candidates(event, rule) if len(self._events) > 1 else self._events
        for cause in candidates:
            if cause.state is ACTIVE:
                certain = rule.explains(cause, event)
                if certain is not None:
                    return cause, certain
        return None

    def _candidates(self, event: Event, rule: TimeRule) -> Sequence[Event]:
        """The earlier a cause, the more it explains: of each kind only one need be asked."""
        lookup = self._lookup
        if lookup is None:
            lookup = self._lookup = _Lookup(self._events)
        stream, at = (event.source, event.stream), event.first.timestamp
        if rule.any_order and (at is None or (rule.within is None and rule.slack == _ENDLESS)):
            return lookup.all.first()
        if at is None:
            return lookup.in_stream(stream)
        if rule.within is None:
            timed: Iterable[Event] = lookup.timed.first()
        else:
            timed = lookup.started_between(at - rule.within, rule.latest(at))
        return (*timed, *(lookup.untimed.first() if rule.any_order else lookup.untimed_in_stream(stream)))


class _Lookup:
    """Events in the orders in which causes are looked for."""

    __slots__ = ("_ascending", "_starts", "_streams", "_untimed_streams", "all", "timed", "untimed")

    def __init__(self, events: list[Event]) -> None:
        timed = [event for event in events if event.first.timestamp is not None]
        self.all = _Queue(events)
        self.timed = _Queue(timed)
        self.untimed = _Queue([event for event in events if event.first.timestamp is None])
        self._starts = [event.first.timestamp or 0 for event in timed]
        self._ascending = all(earlier <= later for earlier, later in pairwise(self._starts))
        self._streams: dict[tuple[str, str], _Queue] | None = None
        self._untimed_streams: dict[tuple[str, str], _Queue] | None = None

    def started_between(self, low: int, high: int) -> Sequence[Event]:
        """The first timed cause that started from ``low`` to ``high``, in at most one-element form."""
        if not self._ascending:  # rows that show their last occurrence do not stand in the order of their first
            starts = zip(self.timed.events, self._starts, strict=True)
            inside = (event for event, at in starts if low <= at <= high and event.state is ACTIVE)
            return [event for event, _ in zip(inside, range(1), strict=False)]
        index = self.timed.active_from(bisect_left(self._starts, low))
        return self.timed.events[index : index + 1] if index < len(self._starts) and self._starts[index] <= high else ()

    def in_stream(self, stream: tuple[str, str]) -> Sequence[Event]:
        """The first by line in a stream, timed or not."""
        if self._streams is None:
            self._streams = _by_stream(self.all.events)
        queue = self._streams.get(stream)
        return () if queue is None else queue.first()

    def untimed_in_stream(self, stream: tuple[str, str]) -> Sequence[Event]:
        """The first by line of a stream's untimed ones."""
        if self._untimed_streams is None:
            self._untimed_streams = _by_stream(self.untimed.events)
        queue = self._untimed_streams.get(stream)
        return () if queue is None else queue.first()


def _by_stream(events: Iterable[Event]) -> dict[tuple[str, str], _Queue]:
    found: dict[tuple[str, str], list[Event]] = {}
    for event in sorted(events, key=lambda event: event.first.line_num or 0):
        found.setdefault((event.source, event.stream), []).append(event)
    return {stream: _Queue(inside) for stream, inside in found.items()}


class _Queue:
    """Events in one order. Those out of the decision are skipped, and never looked at again."""

    __slots__ = ("_next", "events")

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self._next = list(range(len(events) + 1))
        """For each index one at or after it, with no active event in between."""

    def first(self) -> Sequence[Event]:
        """The first active event, in at most one-element form."""
        index = self.active_from(0)
        return self.events[index : index + 1]

    def active_from(self, index: int) -> int:
        """The index of the first active event at or after ``index``; the number of events when there is none."""
        step, events = self._next, self.events
        at = index
        while True:
            while step[at] != at:
                at = step[at]
            if at == len(events) or events[at].state is ACTIVE:
                break
            step[at] = at + 1
        while step[index] != at and index != at:
            step[index], index = at, step[index]
        return at
