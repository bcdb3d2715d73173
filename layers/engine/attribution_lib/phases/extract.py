"""Phase 1: from an observation's lines to events.

Write only: nothing here can read what was extracted before. A line that no rule hits costs nothing but the scan; a line
seen before byte for byte costs one look-up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import Clock, Event, EventType, Position, Sample
from attribution_lib.observation import Source
from attribution_lib.phases.accumulate import run_accumulator
from attribution_lib.rules.emission import TextEmission, emit_text
from attribution_lib.rules.model import EMIT_TYPES, AccumulatorRule
from attribution_lib.text.prefixes import Prefix, parse_prefix
from attribution_lib.text.stamps import entry_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Observation
    from attribution_lib.phases.accumulate import Segment
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.model import Emission
    from attribution_lib.rules.plan import ExtractionPlan, PlannedRule
    from attribution_lib.text.lines import TextBuffer

__all__ = ["LineExtractor"]

_DATUM_SIDE = 2_048
"""Half of the 4 KiB that an event keeps of its line."""
_CONTEXT_LINES = 5
_CONTEXT_BYTES = 512
_MINUTE = 60_000_000
_MEMORY = 4_096
"""How many distinct lines are remembered before the memory starts afresh."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What one distinct line says, whatever its number: one entry per rule that confirmed a hit."""

    prefix: Prefix
    hits: tuple[tuple[PlannedRule, Mapping[str, str], TextEmission | None, str], ...]
    """(rule, captures, what it emits (None for accumulators), datum)."""


@dataclass(slots=True)
class LineExtractor:
    """Extracts one text observation into ``sink`` (called once per event, in line order)."""

    plan: ExtractionPlan
    job: JobIdentity
    observation: Observation
    buffer: TextBuffer
    sink: Callable[[Event], None]
    crashes: CrashLog
    _memory: dict[bytes, _Read] = field(default_factory=dict)

    def run(self) -> None:
        """Scan the whole buffer, confirm line by line, emit."""
        lines: list[tuple[int, int, list[tuple[int, int]]]] = []
        for hit in self.plan.matcher.scan(self.buffer.data):
            if lines and lines[-1][0] == hit.start:
                lines[-1][2].append((hit.pattern, hit.hit_end - hit.start))
            else:
                lines.append((hit.start, hit.end, [(hit.pattern, hit.hit_end - hit.start)]))
        numbers = self.buffer.line_numbers([start for start, _, _ in lines])
        for (start, end, hits), line_num in zip(lines, numbers, strict=True):
            self._line((start, end), line_num, hits)

    def _line(self, segment: Segment, line_num: int, hits: list[tuple[int, int]]) -> None:
        data = self.buffer.data[segment[0] : segment[1]]
        read = self._memory.get(data)
        if read is None:
            read = self._read(data, hits)
            if len(self._memory) >= _MEMORY:
                self._memory.clear()
            self._memory[data] = read
        for planned, captures, emitted, datum in read.hits:
            if emitted is not None:
                self._emit(planned, emitted, read.prefix, segment, line_num, datum)
            else:
                self._accumulate(planned, captures, segment, line_num, read.prefix)

    def _read(self, data: bytes, hits: list[tuple[int, int]]) -> _Read:
        """Confirm the candidate rules on one line and work out what each emits."""
        confirmed: list[tuple[PlannedRule, Mapping[str, str], TextEmission | None, str]] = []
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
                run_accumulator(rule, self.job, captures, self.buffer, segment, prefix, self.plan.source)
            )
        except Exception as error:  # noqa: BLE001 -- a crashed rule is a finding in the verdict, never a lost job
            self.crashes.record(rule.provenance, error)
            return
        for emission, place in emissions:
            number = line_num if place == segment else self.buffer.line_numbers([place[0]])[0]
            line = self.buffer.decode(*place)
            own = prefix if place == segment else parse_prefix(line[: 2 * _DATUM_SIDE], self.plan.source)
            self._emit(planned, _text_emission(emission), own, place, number, line[: 2 * _DATUM_SIDE])

    def _emit(  # noqa: PLR0913 -- one event's parts; split they would only be passed on together
        self, planned: PlannedRule, emitted: TextEmission, prefix: Prefix, segment: Segment, line_num: int, datum: str
    ) -> None:
        """Build one event: place and time from the entry first, then from the line."""
        observation = self.observation
        index = line_num - observation.first_line
        timestamp, clock = self._time(index, prefix)
        declared = _column(observation.entries.nodes, index) or observation.node or prefix.node
        rank = next(
            (
                value
                for value in (_column(observation.entries.ranks, index), emitted.rank, prefix.rank, observation.rank)
                if value is not None
            ),
            None,
        )
        payload: dict[str, Any] = dict(emitted.payload)
        if emitted.peer:
            payload["peer"] = emitted.peer
        if rank is None and prefix.task is not None:
            payload["task"] = prefix.task
        rule = planned.rule
        position = Position(timestamp, observation.stream, line_num)
        before, after = self._context(segment) if emitted.event_type == EventType.BAD_NODE else ((), ())
        self.sink(
            Event(
                event_type=emitted.event_type,
                rule=rule.name,
                source=observation.source.value,
                stream=observation.stream,
                line_num=line_num,
                timestamp=timestamp,
                clock=clock,
                node=emitted.node or declared,
                rank=rank,
                device=emitted.device or prefix.device,
                symptom=emitted.symptom,
                payload=payload,
                datum=datum,
                observation_id=observation.observation_id,
                key_fields=tuple(str(payload.get(name, "")) for name in rule.key),
                fold=getattr(rule, "fold", ""),
                occurrences=prefix.repeated,
                first=position,
                last=position,
                times={} if timestamp is None else {timestamp // _MINUTE: prefix.repeated},
                samples=(Sample(timestamp, observation.stream, line_num, line_digest(datum), datum),),
                context_before=before,
                context_after=after,
                node_declared=bool(emitted.node or declared),
            )
        )

    def _time(self, index: int, prefix: Prefix) -> tuple[int | None, Clock]:
        stamp = _column(self.observation.entries.stamps, index)
        if stamp is not None:
            return entry_stamp(stamp), Clock.UTC
        return prefix.timestamp, prefix.clock if prefix.timestamp is not None else Clock.NONE

    def _context(self, segment: Segment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Up to five lines on either side, each cut to 512 bytes."""
        data = self.buffer.data
        before: list[str] = []
        end = segment[0] - 1
        while end >= 0 and len(before) < _CONTEXT_LINES:
            start = data.rfind(b"\n", max(end - (1 << 20), 0), end) + 1
            before.append(data[start : min(end, start + _CONTEXT_BYTES)].decode("utf-8", "replace"))
            end = start - 1
        after: list[str] = []
        start = segment[1] + 1
        while start < len(data) and len(after) < _CONTEXT_LINES:
            stop = data.find(b"\n", start)
            stop = len(data) if stop < 0 else stop
            after.append(data[start : min(stop, start + _CONTEXT_BYTES)].decode("utf-8", "replace"))
            start = stop + 1
        return tuple(reversed(before)), tuple(after)


_NO_PREFIX = Prefix()


def _text_emission(emission: Emission) -> TextEmission:
    """An accumulator's emission in the form of a line rule's."""
    return TextEmission(
        event_type=EMIT_TYPES[emission.type],
        symptom=emission.symptom or None,
        node=emission.node or None,
        rank=emission.rank,
        peer=emission.peer or None,
        device=emission.device or None,
        payload=dict(emission.payload),
    )


def _datum(data: bytes, hit_end: int) -> str:
    """At most 4 KiB of the line, around where the rule hit."""
    if len(data) <= 2 * _DATUM_SIDE:
        return data.decode("utf-8", "replace")
    start = max(min(hit_end - _DATUM_SIDE, len(data) - 2 * _DATUM_SIDE), 0)
    return data[start : start + 2 * _DATUM_SIDE].decode("utf-8", "replace")


def _column(values: Any, index: int) -> Any:
    """One entry's value of a column that may be empty (no entry carries one)."""
    return values[index] if values and 0 <= index < len(values) else None


def line_digest(text: str) -> str:
    """A short stable digest that orders equal positions."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
