"""What the line rules say about some text, line by line: the view that rule authors and rule tests work with.

Accumulators, metric rules and everything after extraction are left out: what is shown is what one line alone proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.rules.emission import emit_text
from attribution_lib.rules.model import TextRule
from attribution_lib.text.lines import normalise
from attribution_lib.text.prefixes import parse_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.observation import Source
    from attribution_lib.rules.emission import Emitted
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.text.prefixes import Prefix

__all__ = ["LineMatcher", "MatchedEvent", "MatchedLine"]


@dataclass(frozen=True, slots=True)
class MatchedEvent:
    """One event that one rule makes of one line. ``node`` and ``rank`` come from the rule, else from the prefix."""

    rule: str
    event_type: str
    symptom: str | None
    node: str | None
    rank: int | None
    device: str | None
    captures: Mapping[str, str]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """One normalised line (1-based, LF-counted; pieces that CR cut share a number) and its events by rule name."""

    line_num: int
    line: str
    events: tuple[MatchedEvent, ...]


class LineMatcher:
    """Matches text of one source against the line rules of an engine."""

    def __init__(self, engine: RuleEngine, source: Source) -> None:
        self._source = source
        self._plan = engine.plans.of(source)

    def lines(self, raw: bytes) -> Iterator[MatchedLine]:
        """Every line of the text, with or without events."""
        buffer = normalise(raw)
        segments = list(_segments(buffer.data))
        numbers = buffer.line_numbers([start for start, _ in segments])
        hits = {start: found for start, _, found in self._plan.matcher.segments(buffer.data)}
        for (start, end), number in zip(segments, numbers, strict=True):
            line = buffer.decode(start, end)
            found = hits.get(start)
            events = tuple(self._events(buffer.data[start:end], line, found)) if found else ()
            yield MatchedLine(number, line, events)

    def _events(self, data: bytes, line: str, hits: Sequence[tuple[int, int]]) -> Iterator[MatchedEvent]:
        prefix: Prefix | None = None
        for pattern, hit_end in hits:
            planned = self._plan.rules[pattern]
            captures = planned.confirm.search(data, hit_end)
            if captures is None or not isinstance(planned.rule, TextRule):
                continue
            emitted = emit_text(planned.rule, captures)
            if emitted is not None:
                prefix = prefix or parse_prefix(line, self._source)
                yield _event(planned.rule, emitted, captures, prefix)


def _event(rule: TextRule, emitted: Emitted, captures: Mapping[str, str], prefix: Prefix) -> MatchedEvent:
    placed = emitted.placed
    return MatchedEvent(
        rule=rule.name,
        event_type=str(placed.event_type),
        symptom=placed.symptom,
        node=placed.node or prefix.node,
        rank=placed.rank if placed.rank is not None else prefix.rank,
        device=placed.device or prefix.device,
        captures={name: text for name, text in captures.items() if text},
        payload=emitted.payload,
    )


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, end
        start = end + 1
