"""Filters over a program's work: errors after which it went on, and stops before which it had long ceased."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from common.application import AUTHOR

from attribution_lib.rule_api import (
    EventType,
    FilterPriority,
    Outcome,
    StateClass,
    SubDomain,
    event_order,
    filter_def,
    outcomes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.rule_api import Event, FilterContext, Position

_File = tuple[str, str]
"""A source and a stream."""
_WORK = frozenset({"progress", "served"})
_SURVIVED = 300 * 1_000_000
_QUARTER = 900 * 1_000_000
"""µs. Ranks that write to other files may go on for as long as a collective waits for the one that failed."""
_SURVIVED_LINES = 100
_SILENT = 1800 * 1_000_000
_SILENT_STEPS = 20
"""So many of its usual steps: a checkpoint or an evaluation is slow, but does not take half an hour as well."""
_SILENCE = "No step for long before the stop"
_STEPS_KNOWN = 3
_STOPPED = frozenset({StateClass.CANCELLED, StateClass.TIMEOUT, StateClass.PREEMPTED})


@filter_def("TrainingWentOn", AUTHOR, priority=FilterPriority.STANDARD + 100)
def training_went_on(context: FilterContext) -> None:
    """An error after which the work went on for minutes is not why the job ended, if something else ended it later.

    Work is a training step or a served request. It is looked for in the error's own file; in the others only where
    both have a time.
    """
    stream = context.event_stream
    work = [event for event in stream.events(type=EventType.JOB_INFO) if _is_work(event)]
    failures = stream.bad(_of_programs(context), source="applog") if work else []
    if not failures:
        return
    latest, final, times = _latest_by_file(work), _final(work), _times_by_file(context, work, failures)
    ends = _Ends(context, latest, final)
    for event in failures:
        file = event.source, event.last.stream
        last = latest.get(file)
        at = event.last.timestamp or _time_below(times.get(file, []), event.last.line_num or 0)
        if last is not None:
            survived = _went_on(event.last, at, last)
        else:
            survived = at is not None and final is not None and final - at > _QUARTER
        ended = ends.after(file) if survived else None
        if ended is not None:
            stream.demote(event, by="TrainingWentOn", explained_by=ended)


@filter_def("WorkBeforeTheStop", AUTHOR, priority=FilterPriority.STANDARD + 110)
def work_before_the_stop(context: FilterContext) -> None:
    """What a job worked on after, for a quarter of an hour, is not why somebody stopped it in the end.

    So it is with any fault, of a part, a service or another process on the node: it stays to be looked at.
    """
    stream = context.event_stream
    stops = stream.events(type=EventType.JOB_STOP)
    final = _final([event for event in stream.events(type=EventType.JOB_INFO) if _is_work(event)]) if stops else None
    if final is None or not (context.job.state_class in _STOPPED or _came_after(final, stops)):
        return
    for events in stream.lists(type=EventType.BAD_NODE):
        times = ((event, event.last.timestamp) for event in events)
        survived = [event for event, at in times if at is not None and final - at > _QUARTER]
        stream.demote_all(survived, by="WorkBeforeTheStop", explained_by=_last_of(stops))


def _came_after(final: int, stops: list[Event]) -> bool:
    """Whether a line says that the job was stopped after its last work: pods that are preempted end as failed."""
    return any(stop.line_num is not None and (stop.last.timestamp or 0) >= final for stop in stops)


@filter_def("StopOfAnEarlierAttempt", AUTHOR, priority=FilterPriority.EARLY + 190)
def stop_of_an_earlier_attempt(context: FilterContext) -> None:
    """A stop ended an earlier attempt where steps go on for minutes below it, and another stop comes later."""
    stream = context.event_stream
    stops = [stop for stop in stream.events(type=EventType.JOB_STOP) if stop.line_num is not None]
    if len(stops) > 1:
        latest = _latest_by_file([event for event in stream.events(type=EventType.JOB_INFO) if _is_work(event)])
        end = _last_of(stops)
        for stop in stops:
            last = latest.get((stop.source, stop.last.stream)) if stop is not end else None
            if last is not None and _went_on(stop.last, stop.last.timestamp, last):
                stream.discard(stop, by="StopOfAnEarlierAttempt", explained_by=end)


def _last_of(stops: list[Event]) -> Event:
    return max(stops, key=lambda stop: stop.last.timestamp or 0)


def _final(work: list[Event]) -> int | None:
    """When the job is known to have worked for the last time."""
    return max((event.last.timestamp for event in work if event.last.timestamp is not None), default=None)


def _is_work(event: Event) -> bool:
    """A step or a served request; a bar that stands at `` 0%|  | 0/49`` is drawn again whatever goes on."""
    kind, at = event.payload.get("kind"), str(event.payload.get("at") or "")
    return kind in _WORK and (kind != "progress" or bool(at.strip("0.")))


def _of_programs(context: FilterContext) -> list[str]:
    """The symptoms of failures that a program may live through: its own, and those of unclear domain."""
    registry = context.registry
    return [
        name
        for name in sorted(name for name in context.event_stream.symptoms() if name is not None)
        if registry.get(name).outcome is not Outcome.INJECTED_FAULT
        and registry.sub_domain(name) in {SubDomain.APPLICATION, SubDomain.AMBIGUOUS}
    ]


class _Ends:
    """What may have ended the job after its last work: faults, then stops, then what the scheduler says of a stop."""

    def __init__(self, context: FilterContext, latest: Mapping[_File, Position], final: int | None) -> None:
        stream = context.event_stream
        echoes = context.registry.resolve([outcomes(Outcome.UNKNOWN)])  # that a task ended is no reason why
        faults = [events for events in stream.lists(type=EventType.BAD_NODE) if events[0].symptom not in echoes]
        stops = stream.events(type=EventType.JOB_STOP)
        self._faults = _FirstAfter(faults, latest, final)
        self._stops = _FirstAfter([[stop for stop in stops if stop.line_num is not None]], latest, final)
        stopped = context.job.state_class in _STOPPED
        self._said = next((stop for stop in stops if stop.line_num is None), None) if stopped else None

    def after(self, file: _File) -> Event | None:
        """What stands below the last work in a file, or came after the job's where the file has none."""
        return self._faults.of(file) or self._stops.of(file) or self._said


class _FirstAfter:
    """The first of some events below the last work of each file, and after the job's: found on one walk over them."""

    def __init__(self, lists: list[list[Event]], latest: Mapping[_File, Position], final: int | None) -> None:
        self._latest = latest
        self._below: dict[_File, Event] = {}
        self._late: Event | None = None
        for event in (event for events in lists for event in events):
            at, file = event.first.timestamp, (event.source, event.first.stream)
            if file in latest and _gap_in_lines(latest[file], event.first) > 0:
                self._below[file] = min(self._below.get(file, event), event, key=event_order)
            if final is not None and at is not None and at > final:
                self._late = min(self._late or event, event, key=event_order)

    def of(self, file: _File) -> Event | None:
        """The first below the work of a file, or after the job's where the file has none."""
        return self._below.get(file) if file in self._latest else self._late


def _went_on(error: Position, at: int | None, last: Position) -> bool:
    """Whether the last work in the error's file lies long after it: by time, else by lines."""
    if _gap_in_lines(error, last) <= 0:
        return False
    if at is not None and last.timestamp is not None:
        return last.timestamp - at > _SURVIVED
    return _gap_in_lines(error, last) > _SURVIVED_LINES


def _gap_in_lines(first: Position, second: Position) -> int:
    """From one place in a file to another; of two on the same line the later time is behind."""
    lines = (second.line_num or 0) - (first.line_num or 0)
    if lines == 0 and first.timestamp is not None and second.timestamp is not None:
        return second.timestamp - first.timestamp
    return lines


def _latest_by_file(work: list[Event]) -> dict[_File, Position]:
    latest: dict[_File, Position] = {}
    for event in work:
        file = event.source, event.last.stream
        known = latest.setdefault(file, event.last)
        if _gap_in_lines(known, event.last) > 0:
            latest[file] = event.last
    return latest


def _times_by_file(
    context: FilterContext, work: list[Event], failures: list[Event]
) -> dict[_File, list[tuple[int, int]]]:
    """{file: (line, time) of what is known to stand there, by line}, of files with failures that have no time."""
    files = {(event.source, event.last.stream) for event in failures if event.last.timestamp is None}
    found: dict[_File, set[tuple[int, int]]] = {}
    # Of faults only both ends: the samples of a hundred thousand would be fetched one by one.
    faults = (event for events in context.event_stream.lists(type=EventType.BAD_NODE) for event in events)
    ends = ((event, *place) for event in (*work, *faults) for place in (event.first, event.last)) if files else ()
    samples = ((event, sample.timestamp, sample.stream, sample.line_num) for event in work for sample in event.samples)
    for event, at, name, line in (*ends, *samples):
        if at is not None and line is not None and (event.source, name) in files:
            found.setdefault((event.source, name), set()).add((line, at))
    return {file: sorted(places) for file, places in found.items()}


def _time_below(places: list[tuple[int, int]], line: int) -> int | None:
    """The time of the next line that has one: what stands above it was no later."""
    index = bisect_right(places, (line, 2**63))
    return places[index][1] if index < len(places) else None


@filter_def("SilentBeforeTheStop", AUTHOR, priority=FilterPriority.LATE)
def silent_before_the_stop(context: FilterContext) -> None:
    """A job that was stopped half an hour and twenty of its usual steps after its last one may have hung."""
    stream = context.event_stream
    stops = stream.events(type=EventType.JOB_STOP) if context.job.state_class in _STOPPED else []
    ended = next((stop.first.timestamp for stop in stops if stop.first.timestamp is not None), context.job.end)
    steps = [event for event in stream.events(type=EventType.JOB_INFO) if event.payload.get("kind") == "progress"]
    last = max(steps, key=lambda event: event.last.timestamp or 0, default=None)
    if not stops or ended is None or last is None or (usual := _usual_step(last)) is None:
        return
    silent = ended - (last.last.timestamp or ended)
    if silent >= max(_SILENT, _SILENT_STEPS * usual):
        said = {"silent": _in_words(silent), "usual_step": _in_words(usual)}
        found = replace(last, event_type=EventType.INTERESTING_NODE, symptom=_SILENCE, payload=said)
        found.rule, found.derived_from = "SilentBeforeTheStop", last.rule
        found.first, found.occurrences = last.last, 1
        stream.add_all([found])


def _usual_step(steps: Event) -> int | None:
    """µs from one step to the next, as they were on average; None of steps that are too few, or have no times.

    Told by how many different minutes, and first samples, steps were seen in: to hear of them twice changes nothing.
    """
    first, last = steps.first.timestamp, steps.last.timestamp
    seen = max(len(steps.times), len({sample.timestamp for sample in steps.samples} | {last}))
    if seen < _STEPS_KNOWN or first is None or last is None:
        return None
    return (last - first) // (seen - 1)


def _in_words(micros: int) -> str:
    minutes, seconds = divmod(micros // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
