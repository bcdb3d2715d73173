"""Phase 1: from an observation's lines to events.

Write only: nothing here can read what was extracted before. A line that no rule hits costs nothing but the scan; a line
seen before byte for byte costs one look-up, and of a message that came behind another prefix only the prefix is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attribution_lib.bulk import collector_paused
from attribution_lib.events.event import Clock, Event, EventType, Position
from attribution_lib.events.fold import make_key
from attribution_lib.events.folder import Latest
from attribution_lib.phases.accumulate import run_accumulator
from attribution_lib.phases.context import ContextReader
from attribution_lib.phases.reading import LineReader
from attribution_lib.phases.sayings import DATUM_SIDE, Read, Said, Where
from attribution_lib.rules.emission import place_accumulated
from attribution_lib.rules.model import AccumulatorRule
from attribution_lib.text.prefixes import Prefix, parse_prefix
from attribution_lib.text.stamps import entry_stamp

if TYPE_CHECKING:
    from attribution_lib.events.sink import EventSink
    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Observation
    from attribution_lib.phases.accumulate import Segment
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.phases.sayings import Address
    from attribution_lib.rules.emission import Placed
    from attribution_lib.rules.plan import ExtractionPlan
    from attribution_lib.text.lines import TextBuffer

__all__ = ["LineExtractor"]

_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor."""
_BAD_NODE, _NONE = EventType.BAD_NODE, Clock.NONE


@dataclass(slots=True)
class LineExtractor:
    """Extracts one text observation into ``events``, in line order."""

    plan: ExtractionPlan
    job: JobIdentity
    observation: Observation
    buffer: TextBuffer
    events: EventSink
    crashes: CrashLog
    _reader: LineReader = field(init=False)
    _context: ContextReader = field(init=False)
    _prefixes: dict[int, Prefix] = field(default_factory=dict)
    """Prefixes that accumulators have read, by offset."""
    _source: str = field(init=False)
    _lines_alone: bool = field(init=False)
    """No entry has a stamp, a node or a rank: what a line says depends on its text alone."""

    def __post_init__(self) -> None:
        self._reader = LineReader(self.plan, self.crashes)
        self._context = ContextReader(self.buffer)
        self._source = self.observation.source.value
        entries = self.observation.entries
        self._lines_alone = not (entries.stamps or entries.nodes or entries.ranks)

    def run(self) -> None:
        """Scan the whole buffer, confirm line by line, emit."""
        with collector_paused():
            self._run()
            self._reader.forget()  # before the collector looks at it

    def _run(self) -> None:
        data, line = self.buffer.data, self._line
        for start, end, hits in self.plan.matcher.segments(data):
            line(data[start:end], start, hits)

    def _line(self, data: bytes, start: int, hits: list[tuple[int, int]]) -> None:
        read = self._reader.read(data, hits)
        if not read.said:
            return
        line_num = self.buffer.line_number(start)
        segment = start, start + len(data)
        addressed = read.addressed
        for index, said in enumerate(read.said):
            if said.placed is None:
                self._accumulate(said, segment, line_num, read)
                continue
            address = addressed.get(index) if addressed else None
            if address is None:
                address = self._address(said, said.placed, read.prefix, line_num)
                if self._lines_alone:
                    addressed[index] = address
            self._emit(said, said.placed, read, address, segment, line_num)

    def _accumulate(self, said: Said, segment: Segment, line_num: int, read: Read) -> None:
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
                    prefix=read.prefix,
                    source=self.plan.source,
                    memory=self._prefixes,
                )
            )
        except Exception as error:  # noqa: BLE001 -- a crashed rule is a finding in the verdict, never a lost job
            self.crashes.record(rule.provenance, error)
            return
        for emission, place in emissions:
            number = line_num if place == segment else self.buffer.line_number(place[0])
            line = self.buffer.decode(*place)[: 2 * DATUM_SIDE]
            prefix = read.prefix if place == segment else parse_prefix(line, self.plan.source)
            placed = place_accumulated(emission)
            own = Said(said.planned, {}, placed, dict(emission.payload))
            address = self._address(own, placed, prefix, number)
            self._emit(own, placed, Read(prefix, (own,), line), address, place, number)

    def _emit(  # noqa: PLR0913, PLR0917 -- what was said, where, and the line it stands in; the hot path
        self, said: Said, placed: Placed, read: Read, address: Address, segment: Segment, line_num: int
    ) -> None:
        """Count one occurrence; its event is built only when it would be shown, or is the first."""
        (where, key), prefix, planned = address, read.prefix, said.planned
        timestamp, declared = where.timestamp, where.node is not None
        datum = read.text if said.datum is None else said.datum
        stream, events, fold = self.observation.stream, self.events, planned.fold
        if not fold:
            if events.count(key, timestamp, stream, line_num, datum, prefix.repeated, declared=declared):
                return
        elif fold == "last" and placed.event_type is not _BAD_NODE:
            payload = _payload(said, placed, where.rank, prefix)
            place = Position(timestamp, stream, line_num)
            latest = Latest(place, payload, datum, self.observation.observation_id, prefix.repeated, declared)
            if events.advance(key, latest):
                return
        event = self._event(said, placed, where, prefix, datum)
        event.line_num = line_num
        if placed.event_type is _BAD_NODE:
            event.context_before, event.context_after = self._context.around(segment)
        events.add(event, key)

    def _event(self, said: Said, placed: Placed, where: Where, prefix: Prefix, datum: str) -> Event:
        """The event of one line; its number and context are set by the caller."""
        timestamp, clock, node, rank, device = where
        return Event(
            placed.event_type,
            said.planned.name,
            self._source,
            self.observation.stream,
            None,
            timestamp,
            clock,
            node,
            rank,
            device,
            placed.symptom,
            _payload(said, placed, rank, prefix),
            datum,
            self.observation.observation_id,
            said.key_fields,
            said.planned.fold,
            prefix.repeated,
            node_declared=node is not None,
        )

    def _address(self, said: Said, placed: Placed, prefix: Prefix, line_num: int) -> Address:
        """When, where and under which key an occurrence counts."""
        where = self._where(line_num - self.observation.first_line, placed, prefix)
        timestamp, clock, node, rank, device = where
        key = make_key(
            said.planned.name,
            placed.event_type,
            self._source,
            node,
            rank,
            device,
            placed.symptom,
            clock,
            said.key_fields,
            self.observation.stream,
            timestamp,
        )
        return where, key

    def _where(self, index: int, placed: Placed, prefix: Prefix) -> Where:
        """When and where: what the rule read, then the entry, the stream, the line's prefix."""
        observation = self.observation
        timestamp, rank, device = prefix.timestamp, placed.rank, placed.device or prefix.device
        clock = _NONE if timestamp is None else prefix.clock
        if self._lines_alone:
            if rank is None:
                rank = observation.rank if prefix.rank is None else prefix.rank
            node = placed.node or observation.node or prefix.node
        else:
            entries = observation.entries
            stamp, own = _column(entries.stamps, index), _column(entries.ranks, index)
            if stamp is not None:
                timestamp, clock = entry_stamp(stamp), Clock.UTC
            ranks = (own, rank, prefix.rank, observation.rank)
            rank = next((rank for rank in ranks if rank is not None), None)
            node = placed.node or _column(entries.nodes, index) or observation.node or prefix.node
        where: Where = _bare(Where, (timestamp, clock, node, rank, device))
        return where


def _payload(said: Said, placed: Placed, rank: int | None, prefix: Prefix) -> dict[str, Any]:
    """What the rule captured, with the peer it names and the launcher's task number where no rank is known."""
    payload = said.payload_of()
    if placed.peer:
        payload = {**payload, "peer": placed.peer}
    if rank is None and prefix.task is not None:
        payload = {**payload, "task": str(prefix.task)}
    return payload


def _column(values: Any, index: int) -> Any:
    """One entry's value of a column that may be empty (no entry carries one)."""
    return values[index] if values and 0 <= index < len(values) else None
