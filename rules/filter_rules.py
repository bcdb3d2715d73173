"""Filters over application evidence: one line read twice, exceptions that were only logged, errors the run survived."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from common.application import AUTHOR, before, general_readings
from common.evidence import by_line, lines_of, rules_called

from attribution_lib.rule_api import EventType, FilterPriority, StateClass, filter_def

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from common.evidence import Line

    from attribution_lib.rule_api import Event, EventStream, FilterContext

_LOGGED = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|NOTICE)\b|\[[WI]\d{3,4} |\[[WI] \w+\.\w+:\d+\]|^[WI]\d{4} |Warning: "
)
"""Levels of warning and below, as logging, glog and c10d print them."""
_FORWARDED = re.compile(r"\{\w+\.py:\d+\} (?:INFO|WARNING) - |\| (?:INFO|WARNING) +\| (?:Flow|Task) run ")
"""Schedulers of workflows log each line of a program at a level of their own: Airflow, Prefect."""
_WARNING = re.compile(
    r"(?:^|\]:)\[W\d{3,4} [\d:.]+ |\[W \w+\.cpp:\d+\]|failed call to cuInit: (?:UNKNOWN ERROR|CUDA_ERROR_NO_DEVICE)"
)
"""Level W of c10d, and what TensorFlow and XLA say on every host that has no GPU."""
_EXCEPTIONS = ("PythonException", "FileErrno")
"""How the rules over lines that end a traceback are called."""
_CONTENDER = 400
_STOPPED = {
    StateClass.PREEMPTED: "Stopped on request, then preempted",
    StateClass.TIMEOUT: "Stopped on request at the time limit",
    StateClass.CANCELLED: "Stopped on request, then cancelled",
}
_PODS = frozenset({"kueue", "kai", "batch", "sagemaker"})


@filter_def("DemoteInsufficientPermissions", AUTHOR, priority=FilterPriority.LATE)
def demote_insufficient_permissions(context: FilterContext) -> None:
    """Demote insufficient-permissions telemetry from bad to interesting."""
    symptom = "NV_ERR_INSUFFICIENT_PERMISSIONS"
    _demote_bad_by_symptom(context.event_stream, frozenset((symptom,)), "DemoteInsufficientPermissions")


def _demote_bad_by_symptom(stream: EventStream, symptoms: frozenset[str], rule: str) -> None:
    for event in stream.bad(symptoms):
        stream.demote(event, by=rule)


@filter_def("ExceptionOnlyLogged", AUTHOR, priority=FilterPriority.EARLY + 200)
def exception_only_logged(context: FilterContext) -> None:
    """An exception's text behind a level of warning or lower was handled by the program: interesting, no failure."""
    stream = context.event_stream
    for event in stream.bad(rules=rules_called(stream, _EXCEPTIONS[:1])):
        lead = event.datum.partition(str(event.payload.get("exception") or ":"))[0]
        if _LOGGED.search(_FORWARDED.sub("", lead)):
            stream.demote(event, by="ExceptionOnlyLogged")


@filter_def("LibraryWarning", AUTHOR, priority=FilterPriority.EARLY + 210)
def library_warning(context: FilterContext) -> None:
    """A line that a C++ library logs as its own warning is survived, or an error line follows."""
    stream = context.event_stream
    contenders = [
        name
        for name in sorted(stream.symptoms() - {None})
        if (symptom := context.registry.get(name)).root and symptom.rank >= _CONTENDER
    ]
    lists = stream.lists(type=EventType.BAD_NODE, symptom=contenders, source="applog")
    warnings = [event for events in lists for event in events if _WARNING.search(event.datum)]
    stream.demote_all(warnings, by="LibraryWarning")


@filter_def("ExceptionAtTeardown", AUTHOR, priority=FilterPriority.EARLY + 290)
def exception_at_teardown(context: FilterContext) -> None:
    """The exception line of a traceback that Python ignored, or printed while it cleaned up, is no failure either."""
    stream = context.event_stream
    ignored = by_line(stream.events(symptom="Exception ignored at teardown", type=EventType.INTERESTING_NODE))
    for event in stream.bad(rules=rules_called(stream, _EXCEPTIONS)) if ignored else ():
        found = [ignored.get(line) or _above(line, event, ignored) for line in lines_of(event)]
        if found[0] is not None and None not in found:
            stream.discard(event, by="ExceptionAtTeardown", explained_by=found[0])


def _above(line: Line, event: Event, ignored: Mapping[Line, Event]) -> Event | None:
    """What the line above says, if it is of the same exception: some launchers print every line twice."""
    found = ignored.get((line[0], line[1], line[2] - 1))
    name = str(event.payload.get("exception") or "")
    return found if found is not None and name and name in found.datum else None


@filter_def("SpecificReadingOfTheSameLine", AUTHOR, priority=FilterPriority.EARLY + 300)
def specific_reading_of_the_same_line(context: FilterContext) -> None:
    """Of several readings of one line the most specific stands: a CUDA error is no 'Python RuntimeError' as well."""
    stream = context.event_stream
    levels = general_readings(stream.symptoms(), context.registry)
    general = stream.bad(levels) if levels else []
    best = _best_readings(stream, levels, {_line(event) for event in general})
    for event in general:
        found = best.get(_line(event))
        if found is not None and levels.get(found.symptom or "", 0) < levels[event.symptom or ""]:
            by = "SpecificReadingOfTheSameLine"
            stream.discard(event, by=by, explained_by=found)


def _line(event: Event) -> Line:
    """The first line that produced the event."""
    return event.source, event.first.stream, event.first.line_num or 0


def _best_readings(stream: EventStream, levels: Mapping[str, int], wanted: Collection[Line]) -> dict[Line, Event]:
    """The least general reading of each wanted line, whatever it decides."""
    best: dict[Line, tuple[int, Event]] = {}
    kinds = (EventType.BAD_NODE, EventType.INTERESTING_NODE, EventType.JOB_STOP)
    sources = {source for source, _, _ in wanted}
    read = (event for kind in kinds for source in sorted(sources) for event in stream.events(type=kind, source=source))
    for event in (event for event in read if event.symptom is not None):
        level = levels.get(event.symptom or "", 0)
        for line in lines_of(event) if event.occurrences > 1 else (_line(event),):
            if line in wanted and (line not in best or level < best[line][0]):
                best[line] = (level, event)
    return {line: event for line, (_, event) in best.items()}


@filter_def("StopNotice", AUTHOR, priority=FilterPriority.STANDARD)
def stop_notice(context: FilterContext) -> None:
    """The program's notice that it was asked to stop is the ending's line where the scheduler says how it ended.

    Only where no other line says so: a notice names no author.
    """
    stream = context.event_stream
    symptom = _STOPPED.get(context.job.state_class)
    lines = [event for event in stream.events(type=EventType.JOB_STOP) if event.line_num is not None]
    notices = stream.events(symptom="Asked to stop (SIGTERM)", type=EventType.INTERESTING_NODE)
    if symptom is not None and notices and not lines:
        stream.emit(event_type=EventType.JOB_STOP, rule="StopNotice", derived_from=notices[0], symptom=symptom)


@filter_def("BusErrorInAPod", AUTHOR, priority=FilterPriority.STANDARD)
def bus_error_in_a_pod(context: FilterContext) -> None:
    """In a pod /dev/shm is 64 MB unless the job's spec mounts more: a data worker's bus error there is the spec's."""
    if context.job.scheduler.value not in _PODS:
        return
    events = context.event_stream.bad(["DataLoader worker killed by a bus error"])
    _replace(context.event_stream, events, "BusErrorInAPod", "Shared memory of the pod too small")


@filter_def("NoMemoryAtTheFirstCollective", AUTHOR, priority=FilterPriority.STANDARD)
def no_memory_at_the_first_collective(context: FilterContext) -> None:
    """No GPU memory inside a collective, before any step: the program has hardly asked for any yet.

    A left-over process, every rank on one GPU, or a GPU in a bad state are as likely as the model's size.
    """
    stream = context.event_stream
    progress = _facts(stream, "progress")
    inside = {
        line: event
        for event in _facts(stream, "traceback")
        if "torch/distributed/" in str(event.payload.get("frame"))
        for line in lines_of(event)
    }
    inside_one = [
        event
        for event in stream.bad(["cudaErrorMemoryAllocation"])
        if not any(before(step, event) for step in progress) and any(line in inside for line in lines_of(event))
    ]
    _replace(stream, inside_one, "NoMemoryAtTheFirstCollective", "No GPU memory at the first collective")


def _facts(stream: EventStream, kind: str) -> list[Event]:
    return [event for event in stream.events(type=EventType.JOB_INFO) if event.payload.get("kind") == kind]


def _replace(stream: EventStream, events: list[Event], rule: str, symptom: str) -> None:
    """The finding takes the place of the events it was read from, so that a line is told once."""
    found = [replace(event, rule=rule, symptom=symptom, derived_from=event.rule) for event in events]
    for event, finding in zip(events, found, strict=True):
        stream.discard(event, by=rule, explained_by=finding)
    stream.add_all(found)
