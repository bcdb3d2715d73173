"""What the line rules say about some text, line by line: the view that rule authors and rule tests work with.

Accumulators, metric rules and everything after extraction are left out: what is shown is what one line alone proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from attribution_lib.rules.emission import emit_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.observation import Source
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.model import TextRule

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
    """One normalised line (1-based, LF-counted) and its events, in the order of the rules' names."""

    line_num: int
    line: str
    events: tuple[MatchedEvent, ...]


class LineMatcher:
    """Matches text of one source against the line rules of an engine."""

    def __init__(self, engine: RuleEngine, source: Source) -> None:
        self._rules = [(rule, re2.compile(rule.match_re)) for rule in engine.text_rules if source in rule.sources]

    def lines(self, raw: bytes) -> Iterator[MatchedLine]:
        """Every line of the text, with or without events."""
        for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
            yield MatchedLine(number, line, tuple(self._events(line)))

    def _events(self, line: str) -> Iterator[MatchedEvent]:
        for rule, compiled in self._rules:
            match = compiled.search(line)
            if match is None:
                continue
            captures = {name: text for name, text in match.groupdict().items() if text}
            found = self._event(rule, captures)
            if found is not None:
                yield found

    def _event(self, rule: TextRule, captures: Mapping[str, str]) -> MatchedEvent | None:
        emitted = emit_text(rule, captures)
        if emitted is None:
            return None
        return MatchedEvent(
            rule=rule.name,
            event_type=str(emitted.event_type),
            symptom=emitted.symptom,
            node=emitted.node,
            rank=emitted.rank,
            device=emitted.device,
            captures=captures,
            payload=emitted.payload,
        )
