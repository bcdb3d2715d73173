"""The engine's own EARLY steps: whatever needs another line, another observation or the job as it is now.

In order: staged events step aside, places and clocks are resolved, equal rows are folded again, what lies outside the
job's window is discarded, and what is about other jobs or other nodes becomes merely interesting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attribution_lib.events.event import Event, EventState, EventType, Position
from attribution_lib.events.folder import Folder
from attribution_lib.events.stream import EventStream
from attribution_lib.job.hostlist import HostlistError, expand_nodes
from attribution_lib.phases.clocks import ClockReference, to_utc
from attribution_lib.phases.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["ABOUT_OTHERS", "OUTSIDE_WINDOW", "STAGED", "Prepared", "prepare"]

OUTSIDE_WINDOW = "outside_window"
STAGED = "staged"
ABOUT_OTHERS = "about_other_jobs_or_nodes"
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """The stream that filters start from, with what the early steps learnt on the way."""

    stream: EventStream
    placement: Placement
    outside_window: int
    staged_hits: Mapping[str, int]


def prepare(events: Iterable[Event], job: JobInfo, engine: RuleEngine) -> Prepared:
    """Run all early steps over fresh copies of the stored events."""
    rows = [row for event in events for row in _each_node(event)]
    staged = engine.staged_names
    staged_hits: dict[str, int] = {}
    deciding = []
    for event in rows:
        if event.rule in staged:
            staged_hits[event.rule] = staged_hits.get(event.rule, 0) + event.occurrences
            event.state, event.changed_by = EventState.DISCARDED, STAGED
        else:
            deciding.append(event)
    placement = Placement.learn(job, deciding)
    for event in rows:
        placement.place(event, engine.registry)
    _convert_clocks(rows, job)
    rows = _fold_again(rows)
    stream = EventStream(rows, engine.registry)
    outside = _discard_outside_window(stream, job)
    _set_aside_others(stream, job)
    return Prepared(stream, placement, outside, dict(sorted(staged_hits.items())))


def _each_node(event: Event) -> list[Event]:
    """One row a node where a line names several (``Nodes node-[03-04] not responding``); other rows stay whole."""
    if event.node is None or not ("[" in event.node or "," in event.node):
        return [event]
    try:
        names = expand_nodes(event.node)
    except HostlistError:
        return [event]
    return [replace(event, node=name, times=dict(event.times)) for name in names]


def _convert_clocks(rows: list[Event], job: JobInfo) -> None:
    if any(event.timestamp is not None and event.clock != "utc" for event in rows):
        reference = ClockReference.of(job, rows)
        for event in rows:
            to_utc(event, reference)


def _fold_again(rows: list[Event]) -> list[Event]:
    """Rows that became equal once their node and clock were known are one row."""
    folder = Folder()
    states = {event.rule: (event.state, event.changed_by) for event in rows if event.state is EventState.DISCARDED}
    for event in rows:
        folder.add(event)
    folded = list(folder.events())
    for event in folded:
        if event.rule in states:
            event.state, event.changed_by = states[event.rule]
    return folded


def _discard_outside_window(stream: EventStream, job: JobInfo) -> int:
    """Discard what lies wholly outside; a row that reaches in from before starts at its first sample inside."""
    low = None if job.start is None else job.start - job.margin_before * _SECOND
    high = None if job.end is None else job.end + job.margin_after * _SECOND
    if low is None and high is None:
        return 0
    outside = 0
    moved = False
    for event in list(stream):
        first, last = event.first.timestamp, event.last.timestamp
        if first is None or last is None or event.event_type in (EventType.BOOT, EventType.MAPPING):
            continue
        if (low is not None and last < low) or (high is not None and first > high):
            outside += event.occurrences
            stream.discard(event, by=OUTSIDE_WINDOW)
        elif low is not None and first < low:
            _start_inside(event, low)
            moved = True
    if moved:
        stream.replace_all(list(stream))
    return outside


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
    nodes = frozenset(job.nodes)
    for event in stream.events(type=EventType.BAD_NODE) + stream.events(type=EventType.JOB_STOP):
        foreign_node = bool(nodes) and event.node is not None and event.node not in nodes and event.source != "applog"
        if foreign_node or _names_other_job(event, job):
            if event.event_type == EventType.JOB_STOP:
                stream.discard(event, by=ABOUT_OTHERS)
            else:
                stream.demote(event, by=ABOUT_OTHERS)


def _names_other_job(event: Event, job: JobInfo) -> bool:
    """Rules that capture ``job_id`` say which job a line is about; steps and array tasks (4711.0, 4711_3) are ours."""
    named = event.payload.get("job_id")
    if event.source != "scheduler" or not isinstance(named, str) or not named or not job.job_id:
        return False
    own = job.job_id.split(".")[0].split("_")[0].split("+")[0]
    return named.split(".")[0].split("_")[0].split("+")[0] not in (own, job.job_id)
