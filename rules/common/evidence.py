"""Where events stand: shared lines, order of two events, ranks named by a payload. Pure helpers of the Python rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event

Line = tuple[str, str, int]
"""Source, stream and line number."""

_NUMBER = re.compile(r"\d+")
_MAX_RANKS = 4096


def lines_of(event: Event) -> list[Line]:
    """Every line that is known to have produced the event: first, last and samples, in order."""
    found = {(event.first.stream or event.stream, event.first.line_num), (event.last.stream, event.last.line_num)}
    found.update((sample.stream, sample.line_num) for sample in event.samples)
    return sorted((event.source, stream, line) for stream, line in found if line is not None)


def by_line(events: Iterable[Event]) -> dict[Line, Event]:
    """The first event of each line."""
    found: dict[Line, Event] = {}
    for event in events:
        for line in lines_of(event):
            found.setdefault(line, event)
    return found


def follows(event: Event, other: Event) -> bool:
    """Whether ``event`` is known to stand after ``other``: by time, else by line within one stream."""
    mine, theirs = event.first, other.first
    if mine.timestamp is not None and theirs.timestamp is not None:
        return mine.timestamp >= theirs.timestamp
    same = (event.source, event.stream) == (other.source, other.stream)
    return same and (mine.line_num or 0) >= (theirs.line_num or 0)


def definition_of(event: Event) -> str:
    """The rule, family or catalogue that produced the event, without the member's name."""
    return event.rule.split(".", 1)[0]


def ranks_in(text: object) -> list[int]:
    """The rank numbers in ``5``, ``1, 2`` or ``{3, 7}``; at most 4,096 of them."""
    return [int(number) for number in _NUMBER.findall(str(text or ""))[:_MAX_RANKS]]
