"""Where events stand: shared lines, order of two events, ranks named by a payload. Pure helpers of the Python rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import Causes, Order, TimeRule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from attribution_lib.rule_api import Event, EventStream

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


def first_before(events: Iterable[Event]) -> Callable[[Event], Event | None]:
    """For any event, the first of the active ``events`` (which come in order) that it ``follows``."""
    causes = Causes(events)
    follows_it = TimeRule.of(Order.BEFORE, slack=0, within=None)

    def first(event: Event) -> Event | None:
        found = causes.first_for(event, follows_it)
        return None if found is None else found[0]

    return first


def definition_of(event: Event) -> str:
    """The rule, family or catalogue that produced the event, without the member's name."""
    return event.rule.split(".", 1)[0]


def rules_of(stream: EventStream, definitions: Collection[str]) -> list[str]:
    """The rules of these definitions that produced something."""
    return [rule for rule in stream.rules() if rule.split(".", 1)[0] in definitions]


def rules_called(stream: EventStream, prefixes: tuple[str, ...]) -> list[str]:
    """The rules with such names that produced something."""
    return [rule for rule in stream.rules() if rule.startswith(prefixes)]


def ranks_in(text: object) -> list[int]:
    """The rank numbers in ``5``, ``1, 2`` or ``{3, 7}``; at most 4,096 of them."""
    return [int(number) for number in _NUMBER.findall(str(text or ""))[:_MAX_RANKS]]
