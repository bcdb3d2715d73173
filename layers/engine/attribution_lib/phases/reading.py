"""Reading lines that may be hits: which rules confirm them, and what stands in front of the message.

Two memories make repeats cheap: of whole lines, and of messages behind whatever prefix. The second holds what rules
find that cannot begin to match within the prefix: what they found behind one they find behind any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from attribution_lib.match.opening import opening_of
from attribution_lib.phases.sayings import DATUM_SIDE, Read, Said, datum_of
from attribution_lib.text.prefixes import Prefix, parse_prefix

if TYPE_CHECKING:
    from attribution_lib.match.opening import Opening
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.emission import Emitter
    from attribution_lib.rules.plan import ExtractionPlan, PlannedRule

__all__ = ["LineReader"]

_MEMORY = 4_096
"""How many distinct lines, and messages, are remembered before the memory starts afresh."""
_MEMORY_LINE = 2 * DATUM_SIDE
"""Longer lines are not remembered: a thousand of 1 MiB would fill a gigabyte."""
_BEFORE = 3
"""Bytes of the prefix that count as the message: ``(?:^|: )Error`` begins before the word."""
_NO_PREFIX = Prefix()
_NOTHING = Read(_NO_PREFIX, (), "")

Hits = list[tuple[int, int]]
"""(pattern, where in the line the hit ends)."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Memory(dict[_Key, _Value]):
    """What was read lately; it rests where hardly anything comes twice, as in lines that all hold another time."""

    __slots__ = ("limit", "rest", "used")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.used = 0
        """How often something was found here since the memory began to fill."""
        self.rest = 0
        """How many are passed over before the memory is filled again."""

    def rests(self) -> bool:
        """Whether the next one is passed over, neither looked for nor kept."""
        if not self.rest:
            return False
        self.rest -= 1
        return True

    def keep(self, key: _Key, value: _Value) -> None:
        """Remember this; a full memory starts afresh, at once or, where it was hardly ever asked, a while later."""
        if len(self) >= self.limit:
            self.rest = 16 * self.limit if self.used < self.limit // 16 else 0
            self.used = 0
            self.clear()
        self[key] = value


@dataclass(slots=True)
class LineReader:
    """Reads the lines of one source."""

    plan: ExtractionPlan
    crashes: CrashLog
    worthwhile: int = 64
    """So many lines that rules confirmed together cost as much as to find where their matches may begin."""
    memory: int = _MEMORY
    _lines: _Memory[bytes, Read] = field(init=False)
    _messages: _Memory[tuple[tuple[int, ...], bytes], tuple[Said, ...]] = field(init=False)
    """By the rules that may hit, and the text from ``_BEFORE`` bytes before the message on."""
    _met: dict[tuple[int, ...], int] = field(default_factory=dict)
    _openings: dict[tuple[int, ...], Opening | None] = field(default_factory=dict)
    """Of rules that were confirmed together: where their matches begin; None: no message of theirs is remembered."""

    def __post_init__(self) -> None:
        self._lines, self._messages = _Memory(self.memory), _Memory(self.memory)

    def read(self, data: bytes, hits: Hits) -> Read:
        """What one line says; the answer may be shared with other lines."""
        if len(data) > _MEMORY_LINE:
            return self._read_long(data, hits)
        lines = self._lines
        if lines.rests():
            return self._read(data, hits)
        read = lines.get(data)
        if read is None:
            read = self._read(data, hits)
            lines.keep(data, read)
        else:
            lines.used += 1
        return read

    def _read(self, data: bytes, hits: Hits) -> Read:
        rules = tuple([pattern for pattern, _ in hits])
        text = data.decode("utf-8", "replace")
        if rules in self._openings:
            prefix = parse_prefix(text, self.plan.source)
            if self._messages.rests():
                return Read(prefix, self._confirmed(data, hits), text)
            opening, start = self._openings[rules], prefix.body_start - _BEFORE
            # As long in bytes as in characters: an offset is the same in both.
            if opening is None or start <= 0 or len(text) != len(data) or not opening.lies_behind(data, start):
                return Read(prefix, self._confirmed(data, hits), text)
            message = rules, data[start:]
            said = self._messages.get(message)
            if said is None:
                said = self._confirmed(data, hits)
                self._messages.keep(message, said)
            else:
                self._messages.used += 1
            return Read(prefix, said, text)
        said = self._confirmed(data, hits)
        if not said:
            return _NOTHING
        met = self._met[rules] = self._met.get(rules, 0) + 1
        if met >= self.worthwhile:
            self._openings[rules] = self._opening(rules)
        return Read(parse_prefix(text, self.plan.source), said, text)

    def _read_long(self, data: bytes, hits: Hits) -> Read:
        said = self._confirmed(data, hits, long=True)
        if not said:
            return _NOTHING
        head = data[: 2 * DATUM_SIDE].decode("utf-8", "replace")
        return Read(parse_prefix(head, self.plan.source), said, head)

    def _opening(self, rules: tuple[int, ...]) -> Opening | None:
        planned = [self.plan.rules[rule] for rule in rules]
        if any(rule.emitter is not None and rule.emitter.decode is not None for rule in planned):
            return None  # a decoder that raises is counted line by line
        return opening_of((rule.pattern, rule.engine) for rule in planned)

    def _confirmed(self, data: bytes, hits: Hits, *, long: bool = False) -> tuple[Said, ...]:
        """Confirm the candidate rules on one line and work out what each says."""
        found: list[Said] = []
        for pattern, hit_end in hits:
            planned = self.plan.rules[pattern]
            captures = planned.confirm.search(data, hit_end)
            if captures is None:
                continue
            datum = datum_of(data, hit_end) if long else None
            emitter = planned.emitter
            if emitter is None:
                found.append(Said(planned, captures, None, None, datum))
            elif emitter.decode is not None:
                found += self._decoded(planned, emitter, captures, datum)
            else:
                placed = emitter.place(captures)
                if placed is not None:
                    found.append(Said(planned, captures, placed, None, datum))
        return tuple(found)

    def _decoded(
        self, planned: PlannedRule, emitter: Emitter, captures: dict[str, str], datum: str | None
    ) -> list[Said]:
        try:
            decoded = emitter.decoded(captures)
            placed = emitter.place(decoded)
            return [] if placed is None else [Said(planned, decoded, placed, emitter.payload_of(decoded), datum)]
        except Exception as error:  # noqa: BLE001 -- a decoder that raises must not cost the line its other rules
            self.crashes.record(planned.rule.provenance, error)
            return []
