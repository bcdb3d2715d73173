"""Phase 1: from an observation's lines to events.

Write only: nothing here can read what was extracted before. A line that no rule hits costs nothing but the scan; a line
seen before byte for byte costs one look-up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attribution_lib.bulk import collector_paused
from attribution_lib.events.event import Clock, Event, EventType, Position
from attribution_lib.events.fold import make_key
from attribution_lib.events.folder import Latest
from attribution_lib.phases.accumulate import run_accumulator
from attribution_lib.phases.context import ContextReader
from attribution_lib.rules.emission import Emitted, emit_accumulated, emit_text
from attribution_lib.rules.model import AccumulatorRule
from attribution_lib.text.prefixes import Prefix, parse_prefix
from attribution_lib.text.stamps import entry_stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.events.fold import FoldKey
    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Observation
    from attribution_lib.phases.accumulate import Segment
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.plan import ExtractionPlan, PlannedRule
    from attribution_lib.text.lines import TextBuffer

__all__ = ["EventSink", "LineExtractor"]

_DATUM_SIDE = 2_048
"""Half of the 4 KiB that an event keeps of its line."""
_MEMORY = 4_096
"""How many distinct lines are remembered before the memory starts afresh."""
_MEMORY_LINE = 4_096
"""Longer lines are not remembered: a thousand of 1 MiB would fill a gigabyte."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What one distinct line says, whatever its number: one entry per rule that confirmed a hit."""

    prefix: Prefix
    hits: tuple[tuple[PlannedRule, Mapping[str, str], Emitted | None, str], ...]
    """(rule, captures, what it emits (None for accumulators), datum)."""


class _Where(NamedTuple):
    """When and where one line's event happened, as far as extraction can tell."""

    timestamp: int | None
    clock: Clock
    node: str | None
    rank: int | None
    device: str | None


class EventSink(Protocol):
    """Where events go; see ``events.folder.Folder`` for what ``bump`` answers."""

    def add(self, event: Event) -> None:
        """Take one event."""

    def bump(  # noqa: PLR0913 -- an occurrence without its event
        self,
        key: FoldKey,
        timestamp: int | None,
        stream: str,
        line_num: int | None,
        occurrences: int = 1,
        *,
        declared: bool = False,
    ) -> bool:
        """Count one more occurrence of a known key; False when the event itself is needed."""

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Let the row of a rule that keeps its last occurrence show this one; False when the event is needed."""


@dataclass(slots=True)
class LineExtractor:
    """Extracts one text observation into ``events``, in line order."""

    plan: ExtractionPlan
    job: JobIdentity
    observation: Observation
    buffer: TextBuffer
    events: EventSink
    crashes: CrashLog
    _memory: dict[bytes, _Read] = field(default_factory=dict)
    _context: ContextReader = field(init=False)
    _prefixes: dict[int, Prefix] = field(default_factory=dict)
    """Prefixes that accumulators have read, by offset."""

    def __post_init__(self) -> None:
        self._context = ContextReader(self.buffer)

    def run(self) -> None:
        """Scan the whole buffer, confirm line by line, emit."""
        with collector_paused():
            self._run()

    def _run(self) -> None:
        segment = (-1, -1)
        hits: list[tuple[int, int]] = []
        for start, end, pattern, hit_end in self.plan.matcher.scan(self.buffer.data):
            if start != segment[0]:
                if hits:
                    self._line(segment, hits)
                segment, hits = (start, end), []
            hits.append((pattern, hit_end - start))
        if hits:
            self._line(segment, hits)

    def _line(self, segment: Segment, hits: list[tuple[int, int]]) -> None:
        data = self.buffer.data[segment[0] : segment[1]]
        read = self._memory.get(data)
        if read is None:
            read = self._read(data, hits)
            if len(data) <= _MEMORY_LINE:
                if len(self._memory) >= _MEMORY:
                    self._memory.clear()
                self._memory[data] = read
        if not read.hits:
            return
        line_num = self.buffer.line_numbers((segment[0],))[0]
        for planned, captures, emitted, datum in read.hits:
            if emitted is not None:
                self._emit(planned, emitted, read.prefix, segment, line_num, datum)
            else:
                self._accumulate(planned, captures, segment, line_num, read.prefix)

    def _read(self, data: bytes, hits: list[tuple[int, int]]) -> _Read:
        """Confirm the candidate rules on one line and work out what each emits."""
        confirmed: list[tuple[PlannedRule, Mapping[str, str], Emitted | None, str]] = []
        prefix: Prefix | None = None
        for pattern, hit_end in hits:
            planned = self.plan.rules[pattern]
            captures = planned.confirm.search(data, hit_end)
            if captures is None:
                continue
            if prefix is None:
                prefix = parse_prefix(data[: 2 * _DATUM_SIDE].decode("utf-8", "replace"), self.plan.source)
            datum = _datum(data, hit_end)
            if isinstance(planned.rule, AccumulatorRule):
                confirmed.append((planned, captures, None, datum))
                continue
            try:
                emitted = emit_text(planned.rule, captures)
                if emitted is not None:
                    confirmed.append((planned, captures, emitted, datum))
            except Exception as error:  # noqa: BLE001 -- a decoder that raises must not cost the line its other rules
                self.crashes.record(planned.rule.provenance, error)
        return _Read(prefix or _NO_PREFIX, tuple(confirmed))

    def _accumulate(
        self, planned: PlannedRule, captures: Mapping[str, str], segment: Segment, line_num: int, prefix: Prefix
    ) -> None:
        rule = planned.rule
        if not isinstance(rule, AccumulatorRule):
            return
        try:
            emissions = list(
                run_accumulator(
                    rule,
                    job=self.job,
                    captures=captures,
                    buffer=self.buffer,
                    trigger=segment,
                    prefix=prefix,
                    source=self.plan.source,
                    memory=self._prefixes,
                )
            )
        except Exception as error:  # noqa: BLE001 -- a crashed rule is a finding in the verdict, never a lost job
            self.crashes.record(rule.provenance, error)
            return
        for emission, place in emissions:
            number = line_num if place == segment else self.buffer.line_numbers([place[0]])[0]
            line = self.buffer.decode(*place)
            own = prefix if place == segment else parse_prefix(line[: 2 * _DATUM_SIDE], self.plan.source)
            self._emit(planned, emit_accumulated(emission), own, place, number, line[: 2 * _DATUM_SIDE])

    def _emit(  # noqa: PLR0913, PLR0917 -- one event's parts; split they would only be passed on together
        self,
        planned: PlannedRule,
        emitted: Emitted,
        prefix: Prefix,
        segment: Segment,
        line_num: int,
        datum: str,
    ) -> None:
        """Count one occurrence; its event is built only when it would be shown, kept as a sample, or is the first."""
        observation, rule, payload = self.observation, planned.rule, emitted.payload
        where = self._where(line_num - observation.first_line, emitted, prefix)
        key_fields = tuple([str(payload.get(name, "")) for name in rule.key]) if rule.key else ()
        key = make_key(
            rule.name,
            emitted.event_type,
            observation.source.value,
            where.node,
            where.rank,
            where.device,
            emitted.symptom,
            where.clock,
            key_fields,
            observation.stream,
            where.timestamp,
        )
        declared = where.node is not None
        if self.events.bump(key, where.timestamp, observation.stream, line_num, prefix.repeated, declared=declared):
            return
        if getattr(rule, "fold", "") == "last" and emitted.event_type != EventType.BAD_NODE:
            place = Position(where.timestamp, observation.stream, line_num)
            payload = _payload(emitted, where.rank, prefix)
            latest = Latest(place, payload, datum, observation.observation_id, prefix.repeated, declared)
            if self.events.advance(key, latest):
                return
        event = self._event(planned, emitted, prefix, where)
        event.line_num, event.datum, event.key_fields = line_num, datum, key_fields
        if emitted.event_type == EventType.BAD_NODE:
            event.context_before, event.context_after = self._context.around(segment)
        self.events.add(event)

    def _event(self, planned: PlannedRule, emitted: Emitted, prefix: Prefix, where: _Where) -> Event:
        """The event of one line; its number, text and context are set by the caller."""
        observation = self.observation
        return Event(
            event_type=emitted.event_type,
            rule=planned.rule.name,
            source=observation.source.value,
            stream=observation.stream,
            line_num=None,
            timestamp=where.timestamp,
            clock=where.clock,
            node=where.node,
            rank=where.rank,
            device=where.device,
            symptom=emitted.symptom,
            payload=_payload(emitted, where.rank, prefix),
            datum="",
            observation_id=observation.observation_id,
            fold=getattr(planned.rule, "fold", ""),
            occurrences=prefix.repeated,
            node_declared=where.node is not None,
        )

    def _where(self, index: int, emitted: Emitted, prefix: Prefix) -> _Where:
        """When and where: what the rule read, then the entry, the stream, the line's prefix."""
        observation = self.observation
        timestamp, clock = self._time(index, prefix)
        node = emitted.node or _column(observation.entries.nodes, index) or observation.node or prefix.node
        return _Where(timestamp, clock, node, self._rank(index, emitted, prefix), emitted.device or prefix.device)

    def _rank(self, index: int, emitted: Emitted, prefix: Prefix) -> int | None:
        """The entry's rank, else what the rule read, else the line's tag, else the stream's."""
        entry = _column(self.observation.entries.ranks, index)
        for rank in (entry, emitted.rank, prefix.rank, self.observation.rank):
            if rank is not None:
                return rank
        return None

    def _time(self, index: int, prefix: Prefix) -> tuple[int | None, Clock]:
        stamp = _column(self.observation.entries.stamps, index)
        if stamp is not None:
            return entry_stamp(stamp), Clock.UTC
        return prefix.timestamp, prefix.clock if prefix.timestamp is not None else Clock.NONE


_NO_PREFIX = Prefix()


def _payload(emitted: Emitted, rank: int | None, prefix: Prefix) -> dict[str, str]:
    """What the rule captured, with the peer it names and the launcher's task number where no rank is known."""
    payload = emitted.payload
    if emitted.peer:
        payload = {**payload, "peer": emitted.peer}
    if rank is None and prefix.task is not None:
        payload = {**payload, "task": str(prefix.task)}
    return payload


def _datum(data: bytes, hit_end: int) -> str:
    """At most 4 KiB of the line, around where the rule hit."""
    if len(data) <= 2 * _DATUM_SIDE:
        return data.decode("utf-8", "replace")
    start = max(min(hit_end - _DATUM_SIDE, len(data) - 2 * _DATUM_SIDE), 0)
    return data[start : start + 2 * _DATUM_SIDE].decode("utf-8", "replace")


def _column(values: Any, index: int) -> Any:
    """One entry's value of a column that may be empty (no entry carries one)."""
    return values[index] if values and 0 <= index < len(values) else None
