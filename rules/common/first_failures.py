"""The first failure of each symptom, by time and within each stream, asked for the one that explains a later event."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from common.application import before

from attribution_lib.rule_api import event_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attribution_lib.rule_api import Event

    _Explains = Callable[[Event, Event], bool]

__all__ = ["FirstFailures"]

_Place = tuple[str, str]
"""Source and stream."""
_ANYWHERE: _Place = ("", "")
"""All streams together, for failures with a time."""


class FirstFailures:
    """No later failure of a symptom explains more than its first one: of each only that one is kept."""

    def __init__(self, failures: Iterable[Event], *, within: int) -> None:
        """``failures`` of each symptom in event order; none explains what comes more than ``within`` seconds later."""
        self._within = within * 1_000_000
        met: dict[tuple[str, str, str | None], list[Event]] = {}
        source = stream = symptom = None
        latest = math.inf
        for failure in failures:
            at = failure.first[0]
            same = failure.symptom == symptom and failure.stream == stream and failure.source == source
            if same and at is not None and at > latest:
                continue  # nearly all of many: after both that are kept
            source, stream, symptom = failure.source, failure.stream, failure.symptom
            own = (source, stream, symptom)
            for key in (own,) if at is None else (own, (*_ANYWHERE, symptom)):
                known = met.get(key)
                if known is None:
                    met[key] = [failure, failure]  # the one met first, which says in what order symptoms are asked
                    continue
                best = known[1].first[0]
                if (at is None or best is None or at <= best) and before(failure, known[1]):
                    known[1] = failure
            kept = [] if at is None else [met[own][1].first[0], met[*_ANYWHERE, symptom][1].first[0]]
            latest = max((math.inf if start is None else start for start in kept), default=math.inf)
        self._found: dict[_Place, list[Event]] = {}
        for (source, stream, _), (_, failure) in sorted(met.items(), key=lambda item: event_order(item[1][0])):
            self._found.setdefault((source, stream), []).append(failure)
        self._by_time: dict[_Place, _ByTime | None] = {}

    def kept(self) -> list[Event]:
        """The failures that may explain something, in event order."""
        return sorted({event for events in self._found.values() for event in events}, key=event_order)

    def explained(self, events: Iterable[Event], explains: _Explains) -> Iterator[tuple[Event, Event]]:
        """Those of the events that a failure explains, with that failure.

        What explained the last event of a symptom and stream is the first for a later one as well, if it is in reach:
        all before it were too early, are out of the decision, or explain nothing of that symptom.
        """
        last: dict[tuple[str, str, str | None], tuple[int, int, Event]] = {}
        for event in events:
            place, at = (event.source, event.stream), event.first[0]
            since, started, cause = last.get((*place, event.symptom), _NOTHING)
            if cause is None or at is None or not (since <= at <= started + self._within) or cause.state != "active":
                cause = self.first(event, explains)
                began = None if cause is None else cause.first[0]
                if cause is not None and at is not None and began is not None and began < at and self._timed(place):
                    last[(*place, event.symptom)] = (at, began, cause)
            if cause is not None:
                yield event, cause

    def first(self, event: Event, explains: _Explains) -> Event | None:
        """The first active one that ``explains`` the event, which none does that is not known to stand before it."""
        own, at = (event.source, event.stream), event.first[0]
        timed = self._timed(own)
        if at is not None and timed is not None:
            return _first_by_time(timed, event, at - self._within, at, explains)
        found: Event | None = None
        for failure in (*self._found.get(own, ()), *(self._found.get(_ANYWHERE, ()) if at is not None else ())):
            if _counts(failure, event, explains) and (found is None or before(failure, found)):
                found = failure
        return found

    def _timed(self, place: _Place) -> _ByTime | None:
        if place not in self._by_time:
            self._by_time[place] = _by_time((*self._found.get(place, ()), *self._found.get(_ANYWHERE, ())))
        return self._by_time[place]


_NOTHING: tuple[int, int, None] = (0, 0, None)
_ByTime = tuple[list[int], list["Event"], bool]
"""Times, ascending; the failures that started then; whether they stand in the order of ``before`` throughout."""


def _by_time(failures: Iterable[Event]) -> _ByTime | None:
    """The failures by time; None when one has none."""
    timed = [(failure.first.timestamp, failure) for failure in dict.fromkeys(failures)]
    started = [(at, failure) for at, failure in timed if at is not None]
    if len(started) < len(timed):
        return None
    one_stream = len({(failure.source, failure.stream) for _, failure in started}) == 1
    started.sort(key=(lambda pair: (pair[0], pair[1].first.line_num or 0)) if one_stream else itemgetter(0))
    return [at for at, _ in started], [failure for _, failure in started], one_stream


def _first_by_time(timed: _ByTime, event: Event, low: int, at: int, explains: _Explains) -> Event | None:
    """The earliest that explains is met first, and none after the event need be asked."""
    times, failures, ordered = timed
    found: Event | None = None
    found_at = None
    for index in range(bisect_left(times, low), bisect_right(times, at)):
        if found is not None and times[index] != found_at:
            break
        failure = failures[index]
        if _counts(failure, event, explains) and (found is None or before(failure, found)):
            found, found_at = failure, times[index]
            if ordered:
                break
    return found


def _counts(failure: Event, event: Event, explains: _Explains) -> bool:
    return failure is not event and failure.state == "active" and explains(failure, event)
