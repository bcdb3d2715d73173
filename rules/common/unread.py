"""Lines of last resort: what filters over failed jobs ask for of which no rule reads anything."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from common.evidence import by_line, lines_of

from attribution_lib.rule_api import EventType, StateClass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, FilterContext

__all__ = ["ERROR_LINE", "PLAIN_WORDS", "earliest", "is_unread", "unread_error_lines"]

ERROR_LINE = "error_line"
"""The kind of the fact that a line calls itself an error."""
PLAIN_WORDS = "plain_words"
"""The kind of the fact that a line states a failure in plain words."""


def is_unread(context: FilterContext) -> bool:
    """Whether the job failed, was not stopped, and no rule reads more of it than a launcher's word."""
    stream = context.event_stream
    if context.job.state_class is not StateClass.FAILED or stream.events(type=EventType.JOB_STOP):
        return False
    return not any(context.registry.get(name).root for name in stream.symptoms() - {None} if stream.bad([name]))


def unread_error_lines(context: FilterContext) -> list[Event]:
    """Facts of lines that call themselves errors, unless some rule has read that very line, whatever became of it."""
    stream = context.event_stream
    facts = [event for event in stream.events(type=EventType.JOB_INFO) if event.payload.get("kind") == ERROR_LINE]
    if not facts:
        return []
    lines = chain.from_iterable(stream.lists(source="applog"))
    read = by_line(event for event in lines if event.payload.get("kind") not in (ERROR_LINE, PLAIN_WORDS))
    return [event for event in facts if not any(line in read for line in lines_of(event))]


def earliest(events: Iterable[Event]) -> Event:
    """The first by time, else by stream and line."""
    return min(events, key=_place)


def _place(event: Event) -> tuple[object, ...]:
    stamp = event.first.timestamp
    return stamp is None, stamp or 0, event.first.stream, event.first.line_num or 0
