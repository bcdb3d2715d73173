"""The engine's own EARLY steps: whatever needs another line, another observation or the job as it is now.

In order: staged events step aside, places and clocks are resolved, equal rows are folded again, what lies outside the
job's window is discarded, and what is about other jobs or other nodes becomes merely interesting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import chain, compress
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import UTC, Clock, Event, EventState, EventType, Position
from attribution_lib.events.fold import seed
from attribution_lib.events.ordered import by_kind
from attribution_lib.events.refold import refolded_kinds
from attribution_lib.events.stream import EventStream
from attribution_lib.job.hostlist import HostlistError, expand_nodes
from attribution_lib.observation import Source
from attribution_lib.phases.attempts import begin_after_earlier_attempts
from attribution_lib.phases.clocks import ClockReference, to_utc
from attribution_lib.phases.placement import Placement
from attribution_lib.phases.zones import zone_note

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from attribution_lib.events.ordered import EventsByKind
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["ABOUT_OTHERS", "OUTSIDE_WINDOW", "STAGED", "Prepared", "prepare"]

OUTSIDE_WINDOW = "outside_window"
STAGED = "staged"
ABOUT_OTHERS = "about_other_jobs_or_nodes"
_SECOND = 1_000_000
_EVER = (-(2**63), 2**63)
"""Beyond any time in µs; a whole number, because every row is compared with it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The stream that filters start from, with what the early steps learnt on the way."""

    stream: EventStream
    placement: Placement
    outside_window: int
    staged_hits: Mapping[str, int]
    notes: Sequence[str] = ()


def prepare(stored: EventsByKind, job: JobInfo, engine: RuleEngine, *, made: Iterable[Event] = ()) -> Prepared:
    """Run all early steps over fresh copies of the stored events and those ``made`` at this attribution."""
    made = list(made)
    for event in made:
        if not event.samples:
            seed(event)
    kinds = dict(stored)
    for kind, events in by_kind(made).items():
        kinds[kind] = kinds.get(kind, []) + events
    changed = _each_node(kinds)
    staged_hits = _set_aside_staged(kinds, engine.staged_names)
    placement = Placement.learn(job, _deciding_kinds(kinds, staged_hits))
    changed.update(event.rule for event in made)
    changed |= placement.place(kinds.values(), engine.registry)
    converted, zoneless = _convert_clocks(kinds, job)
    changed |= converted
    stream = EventStream(refolded_kinds(kinds, changed), engine.registry)
    outside = _discard_outside_window(stream, job)
    note = zone_note(stream, outside, job) if zoneless else ""
    _set_aside_others(stream, job)
    count = sum(event.occurrences for event in outside)
    return Prepared(stream, placement, count, dict(sorted(staged_hits.items())), [note] if note else [])


def _deciding_kinds(kinds: EventsByKind, staged: Container[str]) -> list[list[Event]]:
    return [events for (_, rule, _, _), events in kinds.items() if rule not in staged]


def _set_aside_staged(kinds: EventsByKind, staged: frozenset[str]) -> dict[str, int]:
    """{staged rule: occurrences}; its events are seen and decide nothing."""
    hits: dict[str, int] = {}
    for (_, rule, _, _), events in kinds.items():
        if rule in staged:
            hits[rule] = hits.get(rule, 0) + sum(event.occurrences for event in events)
            for event in events:
                event.state, event.changed_by = EventState.DISCARDED, STAGED
    return hits


def _each_node(kinds: EventsByKind) -> set[str]:
    """One row a node where a line names several (``Nodes node-[03-04] not responding``); returns their rules."""
    found = set(map(_node_of, chain.from_iterable(kinds.values())))
    several = {name: names for name in found if name is not None and (names := _names(name))}
    rules: set[str] = set()
    for kind, events in kinds.items() if several else ():
        if not several.keys().isdisjoint(map(_node_of, events)):
            rules.add(kind[1])
            kinds[kind] = [one for event in events for one in _one_a_node(event, several.get(event.node or ""))]
    return rules


def _one_a_node(event: Event, names: Sequence[str] | None) -> list[Event]:
    return [replace(event, node=name, times=dict(event.times)) for name in names] if names else [event]


def _names(node: str) -> list[str]:
    """The nodes that a field names, where it names several."""
    if not ("[" in node or "," in node):
        return []
    try:
        return expand_nodes(node)
    except HostlistError:
        return []


def _convert_clocks(kinds: EventsByKind, job: JobInfo) -> tuple[set[str], bool]:
    """Turn all stamps into UTC; returns the rules whose events had others, and whether the job's zone told any."""
    others = [
        event for events in kinds.values() for event in events if event.clock is not UTC and event.timestamp is not None
    ]
    if not others:
        return set(), False
    zoneless = any(event.clock in (Clock.LOCAL, Clock.YEARLESS) for event in others)
    reference = ClockReference.of(job, chain.from_iterable(kinds.values()))
    for event in others:
        to_utc(event, reference)
    return {event.rule for event in others}, zoneless


def _discard_outside_window(stream: EventStream, job: JobInfo) -> list[Event]:
    """Discard and return what lies wholly outside; a row that reaches in from before starts at its first inside."""
    low = None if job.start is None else job.start - job.margin_before * _SECOND
    high = None if job.end is None else job.end + job.margin_after * _SECOND
    if low is None and high is None:
        return []
    outside, moved = begin_after_earlier_attempts(stream, job)
    stream.discard_all(outside, by=OUTSIDE_WINDOW)
    if moved:
        stream.reorder()
    moved = False
    start, end = (_EVER[0] if low is None else low), (_EVER[1] if high is None else high)
    for event in _perhaps_outside(stream.lists(active=False), start, end):
        first, last = event.first.timestamp, event.last.timestamp
        if first is None or last is None or event.event_type in (EventType.BOOT, EventType.MAPPING):
            continue
        if event.changed_by == OUTSIDE_WINDOW:
            continue
        if last < start or first > end:
            outside.append(event)
        elif low is not None and first < low:
            _start_inside(event, low)
            moved = True
    stream.discard_all(outside, by=OUTSIDE_WINDOW)
    if moved:
        stream.reorder()
    return outside


def _perhaps_outside(lists: Iterable[Sequence[Event]], start: int, end: int) -> Iterator[Event]:
    """Those of events in order that show a time outside, or may have begun at another time than they show."""
    for events in lists:
        low = bisect_left(events, start, key=_time_of)
        high = bisect_right(events, end, key=_time_of)
        inside = events[low:high]
        yield from events[:low]
        yield from compress(inside, map(_fold_of, inside))  # these show their last or greatest occurrence
        yield from events[high:]


def _time_of(event: Event) -> int:
    return _EVER[1] + 1 if event.timestamp is None else event.timestamp


_node_of, _fold_of = attrgetter("node"), attrgetter("fold")


def _start_inside(event: Event, low: int) -> None:
    inside = next((s for s in event.samples if s.timestamp is not None and s.timestamp >= low), None)
    if inside is not None:
        event.first = Position(inside.timestamp, inside.stream, inside.line_num)
        event.datum = inside.datum
    else:
        event.first = event.last
    event.timestamp, event.stream, event.line_num = event.first
    event.moved()


def _set_aside_others(stream: EventStream, job: JobInfo) -> None:
    """A line that names another job, or system evidence of nodes outside the job, decides nothing here."""
    own = {None, *job.nodes}
    naming_jobs = (Source.SCHEDULER, Source.SYSLOG) if _has_number(job) else (Source.SCHEDULER,)
    for event_type in (EventType.BAD_NODE, EventType.JOB_STOP):
        aside: list[Event] = []
        for events in stream.lists(type=event_type):
            source = events[0].source
            foreign = set(map(_node_of, events)) - own if job.nodes and source != Source.APPLOG else ()
            if foreign:
                aside += [event for event in events if event.node in foreign]
            if source in naming_jobs:
                aside += [event for event in events if _names_other_job(event, job)]
        if event_type == EventType.JOB_STOP:
            stream.discard_all([*aside, *_stops_of_others(stream, job)], by=ABOUT_OTHERS)
        else:
            stream.demote_all(aside, by=ABOUT_OTHERS)


def _stops_of_others(stream: EventStream, job: JobInfo) -> list[Event]:
    """Stop lines outside the scheduler's own log that name another job.

    A system log is the node's, which other jobs share. A program's output is the job's own: there a foreign id counts
    as another job's only beside a line that names this one, since wrappers and requeues give jobs other numbers.
    """
    named: dict[str, list[Event]] = {Source.SYSLOG: [], Source.APPLOG: []}
    own = False
    for events in stream.lists(type=EventType.JOB_STOP):
        for event in events if events[0].source in named else ():
            if _names_other_job(event, job):
                named[event.source].append(event)
            else:
                own = own or bool(event.payload.get("job_id"))
    return [*named[Source.SYSLOG], *(named[Source.APPLOG] if own else ())]


def _has_number(job: JobInfo) -> bool:
    """Whether the job's nodes know it by its id: elements of arrays have numbers of their own there, pods have none."""
    return job.job_id.split(".")[0].isdigit()


def _names_other_job(event: Event, job: JobInfo) -> bool:
    """Rules that capture ``job_id`` say which job a line is about; steps and array tasks (4711.0, 4711_3) are ours."""
    named = event.payload.get("job_id")
    if not isinstance(named, str) or not named or not job.job_id:
        return False
    own = job.job_id.split(".")[0].split("_")[0].split("+")[0]
    return named.split(".")[0].split("_")[0].split("+")[0] not in (own, job.job_id)
