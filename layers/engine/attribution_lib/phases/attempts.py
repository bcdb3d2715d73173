"""Earlier attempts in the files of this one: a requeued job's output is appended to what is there.

The stop line of an earlier attempt tells where that ended, if something below it is of this attempt's time: else the
file's clock may be in another zone than was said. What stands above it, with a time or without, is not about this
attempt; a row that goes on below begins there.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from attribution_lib.events.event import Event, EventType, Position

if TYPE_CHECKING:
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo

__all__ = ["ENDS_ATTEMPT", "begin_after_earlier_attempts"]

ENDS_ATTEMPT = "ends_attempt"
"""What a rule's payload says, with "yes", of a fault whose line tells that the scheduler ended the attempt."""
_SKEW = 10_000_000
"""µs by which a node's clock may be behind the scheduler's."""
_File = tuple[str, str]
"""A source and a stream."""


def begin_after_earlier_attempts(stream: EventStream, job: JobInfo) -> tuple[list[Event], bool]:
    """The events that belong to earlier attempts, and whether others were made to begin later than they did."""
    ends = {} if job.start is None else _begun_below(stream, _ends(stream, job.start - _SKEW), job.start - _SKEW)
    earlier: list[Event] = []
    moved = False
    for events in stream.lists(active=False) if ends else ():
        for event in events:
            end = ends.get((event.source, event.stream))
            if end is None or event.first.stream != event.last.stream or (event.first.line_num or 0) > end:
                continue
            if (event.last.line_num or 0) <= end:
                earlier.append(event)
            else:
                _begin_below(event, end)
                moved = True
    return earlier, moved


def _ends(stream: EventStream, start: int) -> dict[_File, int]:
    """The last line of each file at which an attempt was stopped before ``start``."""
    ends: dict[_File, int] = {}
    for event_type in (EventType.JOB_STOP, EventType.BAD_NODE):
        for events in stream.lists(type=event_type):
            for event in takewhile(lambda event: event.timestamp is not None and event.timestamp < start, events):
                place = _end_of_attempt(event, start)
                if place is not None:
                    file = event.source, place.stream
                    ends[file] = max(place.line_num or 0, ends.get(file, 0))
    return ends


def _begun_below(stream: EventStream, ends: dict[_File, int], start: int) -> dict[_File, int]:
    """Those files in which something below the end happened after ``start``."""
    begun: set[_File] = set()
    for events in stream.lists() if ends else ():
        for event in events:
            at, file = event.last.timestamp, (event.source, event.last.stream)
            if at is not None and at >= start and file in ends and (event.last.line_num or 0) > ends[file]:
                begun.add(file)
    return {file: ends[file] for file in begun}


def _end_of_attempt(event: Event, start: int) -> Position | None:
    """Where the event tells for the last time that an attempt ended, if it does."""
    told = event.event_type == EventType.JOB_STOP or (
        event.may_say(ENDS_ATTEMPT) and event.payload.get(ENDS_ATTEMPT) == "yes"
    )
    last = event.last
    return last if told and last.timestamp is not None and last.timestamp < start and last.line_num else None


def _begin_below(event: Event, end: int) -> None:
    """Let a row begin with what it has below a line: the first sample there, or the last occurrence."""
    below = [sample for sample in event.samples if sample.stream == event.stream and (sample.line_num or 0) > end]
    if below:
        first = min(below, key=lambda sample: sample.line_num or 0)
        event.first, event.datum = Position(first.timestamp, first.stream, first.line_num), first.datum
    else:
        event.first = event.last
    event.timestamp, event.stream, event.line_num = event.first
    event.context_before, event.context_after = (), ()
    event.moved()
