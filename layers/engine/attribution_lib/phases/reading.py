"""Reading lines that may be hits: which rules confirm them, and what stands in front of the message.

Two memories make repeats cheap: of whole lines, and of messages behind whatever prefix. The second holds what rules
find that cannot begin to match within the prefix: what they found behind one they find behind any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from attribution_lib.match.opening import opening_of
from attribution_lib.phases.sayings import DATUM_SIDE, Read, Said, datum_of
from attribution_lib.text.prefixes import Draft, Prefix, parse_prefix, prefix_of, read_forms

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

Standing = tuple[str | None, bool, bool, bool]
"""See ``Draft.standing``."""
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
class _Known:
    """Rules that were often confirmed together."""

    rules: tuple[int, ...]
    opening: Opening | None
    """Where their matches begin; None: no message of theirs is remembered."""
    forms: int = 0
    """How many forms stood before the message that was remembered, or found, last; 0 where that says nothing."""


@dataclass(slots=True)
class LineReader:
    """Reads the lines of one source."""

    plan: ExtractionPlan
    crashes: CrashLog
    worthwhile: int = 64
    """So many lines that rules confirmed together cost as much as to find where their matches may begin."""
    memory: int = _MEMORY
    _lines: _Memory[bytes, Read] = field(init=False)
    _messages: _Memory[tuple[tuple[int, ...], Standing | None, bytes], tuple[Said, ...]] = field(init=False)
    """By the rules that may hit, what decides which forms are accepted next where none of them fits the message, and
    the text from ``_BEFORE`` bytes before the message on."""
    _met: dict[tuple[int, ...], int] = field(default_factory=dict)
    _known: dict[tuple[int, ...], _Known] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines, self._messages = _Memory(self.memory), _Memory(self.memory)

    def forget(self) -> None:
        """Drop what is remembered of lines and messages."""
        self._lines.clear()
        self._messages.clear()

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
        known = self._known.get(rules)
        if known is not None:
            return self._read_known(known, data, text, hits)
        said = self._confirmed(data, hits)
        if not said:
            return _NOTHING
        met = self._met[rules] = self._met.get(rules, 0) + 1
        if met >= self.worthwhile:
            self._known[rules] = _Known(rules, self._opening(rules))
        return Read(parse_prefix(text, self.plan.source), said, text)

    def _read_known(self, known: _Known, data: bytes, text: str, hits: Hits) -> Read:
        """One more line of rules that often come together: most say what another one said, behind as many forms."""
        draft, messages = Draft(self.plan.source), self._messages
        # As long in bytes as in characters: an offset is the same in both.
        opening = known.opening if len(text) == len(data) and not messages.rests() else None
        body = 0
        if opening is not None and known.forms:
            body = read_forms(text, 0, draft, known.forms)
            start = body - _BEFORE
            if start > 0 and draft.forms == known.forms:
                said = messages.get((known.rules, draft.standing(), data[start:]))
                if said is not None and opening.lies_behind(data, start):
                    messages.used += 1
                    return Read(prefix_of(draft, body), said, text)
        body = read_forms(text, body, draft)
        prefix, start = prefix_of(draft, body), body - _BEFORE
        if opening is None or start <= 0 or not opening.lies_behind(data, start):
            return Read(prefix, self._confirmed(data, hits), text)
        known.forms = draft.forms if draft.settled else 0
        return Read(prefix, self._said(known, draft, data, start, hits), text)

    def _said(self, known: _Known, draft: Draft, data: bytes, start: int, hits: Hits) -> tuple[Said, ...]:
        messages = self._messages
        message = known.rules, draft.standing() if draft.settled else None, data[start:]
        said = messages.get(message)
        if said is None:
            said = self._confirmed(data, hits)
            messages.keep(message, said)
        else:
            messages.used += 1
        return said

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
            if planned.last_resort and found and not found[0].planned.last_resort:
                continue
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
