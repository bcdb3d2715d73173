"""Phase 1: from an observation's lines to events.

Write only: nothing here can read what was extracted before. A line that no rule hits costs nothing but the scan; a line
seen before byte for byte costs one look-up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attribution_lib.bulk import collector_paused
from attribution_lib.events.event import Clock, Event, EventType, Position, Sample
from attribution_lib.events.fold import digest_of_text, make_key
from attribution_lib.events.folder import Latest
from attribution_lib.phases.accumulate import run_accumulator
from attribution_lib.phases.context import ContextReader
from attribution_lib.phases.sayings import DATUM_SIDE, Read, Said, Where, datum_of
from attribution_lib.rules.emission import Emitted, emit_accumulated, emit_text
from attribution_lib.rules.model import AccumulatorRule
from attribution_lib.text.prefixes import Prefix, parse_prefix
from attribution_lib.text.stamps import entry_stamp

if TYPE_CHECKING:
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.events.sink import EventSink
    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Observation
    from attribution_lib.phases.accumulate import Segment
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.plan import ExtractionPlan, PlannedRule
    from attribution_lib.text.lines import TextBuffer

__all__ = ["LineExtractor"]

_MEMORY = 4_096
"""How many distinct lines are remembered before the memory starts afresh."""
_MEMORY_LINE = 4_096
"""Longer lines are not remembered: a thousand of 1 MiB would fill a gigabyte."""


@dataclass(slots=True)
class LineExtractor:
    """Extracts one text observation into ``events``, in line order."""

    plan: ExtractionPlan
    job: JobIdentity
    observation: Observation
    buffer: TextBuffer
    events: EventSink
    crashes: CrashLog
    _memory: dict[bytes, Read] = field(default_factory=dict)
    _context: ContextReader = field(init=False)
    _prefixes: dict[int, Prefix] = field(default_factory=dict)
    """Prefixes that accumulators have read, by offset."""
    _source: str = field(init=False)
    _lines_alone: bool = field(init=False)
    """No entry has a stamp, a node or a rank: what a line says depends on its text alone."""

    def __post_init__(self) -> None:
        self._context = ContextReader(self.buffer)
        self._source = self.observation.source.value
        entries = self.observation.entries
        self._lines_alone = not (entries.stamps or entries.nodes or entries.ranks)

    def run(self) -> None:
        """Scan the whole buffer, confirm line by line, emit."""
        with collector_paused():
            self._run()

    def _run(self) -> None:
        data, line = self.buffer.data, self._line
        start, end = -1, -1
        hits: list[tuple[int, int]] = []
        for at, segment_end, pattern, hit_end in self.plan.matcher.scan(data):
            if at != start:
                if hits:
                    line(data[start:end], start, hits)
                start, end, hits = at, segment_end, []
            hits.append((pattern, hit_end - at))
        if hits:
            line(data[start:end], start, hits)

    def _line(self, data: bytes, start: int, hits: list[tuple[int, int]]) -> None:
        read = self._memory.get(data)
        if read is None:
            read = self._read(data, hits)
            if len(data) <= _MEMORY_LINE:
                if len(self._memory) >= _MEMORY:
                    self._memory.clear()
                self._memory[data] = read
        if not read.said:
            return
        line_num = self.buffer.line_number(start)
        segment = start, start + len(data)
        for said in read.said:
            if said.emitted is not None:
                self._emit(said, said.emitted, read.prefix, segment, line_num)
            else:
                self._accumulate(said, segment, line_num, read.prefix)

    def _read(self, data: bytes, hits: list[tuple[int, int]]) -> Read:
        """Confirm the candidate rules on one line and work out what each emits."""
        confirmed: list[Said] = []
        prefix: Prefix | None = None
        whole = data.decode("utf-8", "replace") if len(data) <= 2 * DATUM_SIDE else None
        for pattern, hit_end in hits:
            planned = self.plan.rules[pattern]
            captures = planned.confirm.search(data, hit_end)
            if captures is None:
                continue
            if prefix is None:
                head = data[: 2 * DATUM_SIDE].decode("utf-8", "replace") if whole is None else whole
                prefix = parse_prefix(head, self.plan.source)
            datum = datum_of(data, hit_end) if whole is None else whole
            if isinstance(planned.rule, AccumulatorRule):
                confirmed.append(Said(planned, captures, None, datum))
                continue
            try:
                emitted = emit_text(planned.rule, captures)
                if emitted is not None:
                    confirmed.append(Said(planned, captures, emitted, datum))
            except Exception as error:  # noqa: BLE001 -- a decoder that raises must not cost the line its other rules
                self.crashes.record(planned.rule.provenance, error)
        return Read(prefix or _NO_PREFIX, tuple(confirmed))

    def _accumulate(self, said: Said, segment: Segment, line_num: int, prefix: Prefix) -> None:
        rule = said.planned.rule
        if not isinstance(rule, AccumulatorRule):
            return
        try:
            emissions = list(
                run_accumulator(
                    rule,
                    job=self.job,
                    captures=said.captures,
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
            number = line_num if place == segment else self.buffer.line_number(place[0])
            line = self.buffer.decode(*place)
            own = prefix if place == segment else parse_prefix(line[: 2 * DATUM_SIDE], self.plan.source)
            emitted = emit_accumulated(emission)
            self._emit(Said(said.planned, {}, emitted, line[: 2 * DATUM_SIDE]), emitted, own, place, number)

    def _emit(self, said: Said, emitted: Emitted, prefix: Prefix, segment: Segment, line_num: int) -> None:
        """Count one occurrence; its event is built only when it would be shown, kept as a sample, or is the first."""
        where, key = said.addressed or self._address(said, emitted, prefix, line_num)
        timestamp, stream, events = where.timestamp, self.observation.stream, self.events
        declared = where.node is not None
        rule = said.planned.rule
        fold = getattr(rule, "fold", "")
        if not fold:
            if events.bump(key, timestamp, stream, line_num, prefix.repeated, declared=declared):
                return
            if not said.digest:
                said.digest = digest_of_text(said.datum)
            sample = Sample(timestamp, stream, line_num, said.digest, said.datum)
            if events.sample(key, sample, prefix.repeated, declared=declared):
                return
        elif fold == "last" and emitted.event_type != EventType.BAD_NODE:
            payload = _payload(emitted, where.rank, prefix)
            place = Position(timestamp, stream, line_num)
            latest = Latest(place, payload, said.datum, self.observation.observation_id, prefix.repeated, declared)
            if events.advance(key, latest):
                return
        event = self._event(said.planned, emitted, prefix, where)
        event.line_num, event.datum, event.key_fields = line_num, said.datum, _key_fields(rule.key, emitted)
        if emitted.event_type == EventType.BAD_NODE:
            event.context_before, event.context_after = self._context.around(segment)
        events.add(event)

    def _address(self, said: Said, emitted: Emitted, prefix: Prefix, line_num: int) -> tuple[Where, FoldKey]:
        """When, where and under which key an occurrence counts; remembered where no entry has a say in it."""
        rule = said.planned.rule
        where = self._where(line_num - self.observation.first_line, emitted, prefix)
        key = make_key(
            rule.name,
            emitted.event_type,
            self._source,
            where.node,
            where.rank,
            where.device,
            emitted.symptom,
            where.clock,
            _key_fields(rule.key, emitted),
            self.observation.stream,
            where.timestamp,
        )
        if self._lines_alone:
            said.addressed = where, key
        return where, key

    def _event(self, planned: PlannedRule, emitted: Emitted, prefix: Prefix, where: Where) -> Event:
        """The event of one line; its number, text and context are set by the caller."""
        observation = self.observation
        return Event(
            event_type=emitted.event_type,
            rule=planned.rule.name,
            source=self._source,
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

    def _where(self, index: int, emitted: Emitted, prefix: Prefix) -> Where:
        """When and where: what the rule read, then the entry, the stream, the line's prefix."""
        observation = self.observation
        if self._lines_alone:
            ranks = (emitted.rank, prefix.rank, observation.rank)
            rank = next((rank for rank in ranks if rank is not None), None)
            clock = Clock.NONE if prefix.timestamp is None else prefix.clock
            node = emitted.node or observation.node or prefix.node
            return Where(prefix.timestamp, clock, node, rank, emitted.device or prefix.device)
        timestamp, clock = self._time(index, prefix)
        node = emitted.node or _column(observation.entries.nodes, index) or observation.node or prefix.node
        return Where(timestamp, clock, node, self._rank(index, emitted, prefix), emitted.device or prefix.device)

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


def _key_fields(names: tuple[str, ...], emitted: Emitted) -> tuple[str, ...]:
    return tuple([str(emitted.payload.get(name, "")) for name in names]) if names else ()


def _payload(emitted: Emitted, rank: int | None, prefix: Prefix) -> dict[str, str]:
    """What the rule captured, with the peer it names and the launcher's task number where no rank is known."""
    payload = emitted.payload
    if emitted.peer:
        payload = {**payload, "peer": emitted.peer}
    if rank is None and prefix.task is not None:
        payload = {**payload, "task": str(prefix.task)}
    return payload


def _column(values: Any, index: int) -> Any:
    """One entry's value of a column that may be empty (no entry carries one)."""
    return values[index] if values and 0 <= index < len(values) else None
