"""Filters over application evidence: one line read twice, exceptions that were only logged, errors the run survived."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from common.application import AUTHOR, before, generality, is_application
from common.evidence import lines_of

from attribution_lib.rule_api import EventType, FilterPriority, Position, StateClass, filter_def

if TYPE_CHECKING:
    from common.evidence import Line

    from attribution_lib.rule_api import Event, EventStream, FilterContext, GeneratedSymptomRegistry

_LOGGED = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|NOTICE)\b|\[[WI]\d{3,4} |\[[WI] \w+\.\w+:\d+\]|^[WI]\d{4} |Warning: "
)
"""Levels of warning and below, as logging, glog and c10d print them."""
_CODE = re.compile(
    r"(?:^|[\]):>|] ?)\s{2,}(?:raise [A-Za-z_][\w.]*\(|assert |(?:self\.)?(?:log|logger|logging|warnings)\.\w+\("
    r"|print\(|f?[\"'][^\"']*[\"']?\s*[,)]?\s*$)"
)
"""A line of source code as a traceback quotes it, whatever prefix stands before it."""
_WARNING = re.compile(
    r"(?:^|\]:)\[W\d{3,4} [\d:.]+ |\[W \w+\.cpp:\d+\]|^W (?:external|tensorflow|xla)/|: W (?:external|tensorflow)/"
)
"""Level W of c10d and of XLA."""
_CONTENDER = 400
_SURVIVED_SECONDS = 300
_SURVIVED_LINES = 100
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


@filter_def("QuotedSourceCode", AUTHOR, priority=FilterPriority.EARLY + 50)
def quoted_source_code(context: FilterContext) -> None:
    """A message inside a traceback's line of code is not the message itself: the next real line takes its place.

    `    raise IOError("image file is truncated "` stands two lines above the OSError that counts.
    """
    stream = context.event_stream
    for event in [event for event in stream.bad() if event.source == "applog" and _CODE.search(event.datum)]:
        real = next((sample for sample in event.samples if not _CODE.search(sample.datum)), None)
        if real is None:
            stream.demote(event, by="QuotedSourceCode")
            continue
        place = Position(real.timestamp, real.stream, real.line_num)
        moved = replace(
            event,
            timestamp=real.timestamp,
            stream=real.stream,
            line_num=real.line_num,
            datum=real.datum,
            first=place,
            context_before=(),
            context_after=(),
            derived_from=event.rule,
        )
        stream.discard(event, by="QuotedSourceCode", explained_by=moved)
        stream.add(moved)


@filter_def("ExceptionOnlyLogged", AUTHOR, priority=FilterPriority.EARLY + 200)
def exception_only_logged(context: FilterContext) -> None:
    """An exception's text behind a level of warning or lower was handled by the program: interesting, no failure."""
    for event in context.event_stream.bad():
        if generality(event, context.registry) >= 2:  # noqa: PLR2004 -- 2 and 3: read from the class alone
            lead = event.datum.partition(str(event.payload.get("exception") or ":"))[0]
            if _LOGGED.search(lead):
                context.event_stream.demote(event, by="ExceptionOnlyLogged")


@filter_def("LibraryWarning", AUTHOR, priority=FilterPriority.EARLY + 210)
def library_warning(context: FilterContext) -> None:
    """A line that a C++ library logs at level W is its own warning: it is survived, or an error line follows."""
    for event in context.event_stream.bad():
        symptom = context.registry.get(event.symptom or "")
        if event.source == "applog" and symptom.root and symptom.rank >= _CONTENDER and _WARNING.search(event.datum):
            context.event_stream.demote(event, by="LibraryWarning")


@filter_def("SpecificReadingOfTheSameLine", AUTHOR, priority=FilterPriority.EARLY + 300)
def specific_reading_of_the_same_line(context: FilterContext) -> None:
    """Of several readings of one line the most specific stands: a CUDA error is no 'Python RuntimeError' as well."""
    best = _best_readings(context.event_stream, context.registry)
    for event in context.event_stream.bad():
        level = generality(event, context.registry)
        if not level:
            continue
        for line in lines_of(event)[:1]:
            found = best.get(line)
            if found is not None and generality(found, context.registry) < level:
                by = "SpecificReadingOfTheSameLine"
                context.event_stream.discard(event, by=by, explained_by=found)


def _best_readings(stream: EventStream, registry: GeneratedSymptomRegistry) -> dict[Line, Event]:
    """The least general reading of every line that somebody read, whatever it decides."""
    best: dict[Line, tuple[int, Event]] = {}
    kinds = (EventType.BAD_NODE, EventType.INTERESTING_NODE, EventType.JOB_STOP)
    for event in (event for kind in kinds for event in stream.events(type=kind) if event.symptom is not None):
        level = generality(event, registry)
        for line in lines_of(event):
            if line not in best or level < best[line][0]:
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
    for event in context.event_stream.bad(["DataLoader worker killed by a bus error"]):
        _replace(context.event_stream, event, "BusErrorInAPod", "Shared memory of the pod too small")


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
    for event in stream.bad(["cudaErrorMemoryAllocation"]):
        early = not any(before(step, event) for step in progress)
        if early and any(line in inside for line in lines_of(event)):
            rule = "NoMemoryAtTheFirstCollective"
            _replace(stream, event, rule, "No GPU memory at the first collective")


@filter_def("TrainingWentOn", AUTHOR, priority=FilterPriority.STANDARD + 100)
def training_went_on(context: FilterContext) -> None:
    """An error after which training went on for minutes is not why the job ended, if it failed again later."""
    stream = context.event_stream
    progress = _facts(stream, "progress")
    failures = [event for event in stream.bad() if is_application(event, context.registry)]
    if not progress or len(failures) < 2:  # noqa: PLR2004 -- without a later failure the only one is the best there is
        return
    for step in progress:
        later = [event for event in failures if _gap(step, event, after=True)]
        for event in failures if later else ():
            if event.state == "active" and _gap(event, step, after=False):
                stream.demote(event, by="TrainingWentOn", explained_by=later[0])


def _gap(first: Event, second: Event, *, after: bool) -> bool:
    """``second`` begins after the last of ``first``; for progress after an error, long after it."""
    if (first.source, first.stream) != (second.source, second.stream):
        return False
    mine, theirs = first.last, second.first if after else second.last
    if mine.timestamp is not None and theirs.timestamp is not None:
        distance = (theirs.timestamp - mine.timestamp) / 1_000_000
        return distance >= (0 if after else _SURVIVED_SECONDS)
    return (theirs.line_num or 0) - (mine.line_num or 0) > (0 if after else _SURVIVED_LINES)


def _facts(stream: EventStream, kind: str) -> list[Event]:
    return [event for event in stream.events(type=EventType.JOB_INFO) if event.payload.get("kind") == kind]


def _replace(stream: EventStream, event: Event, rule: str, symptom: str) -> None:
    """The finding takes the place of the event it was read from, so that the line is told once."""
    payload = dict(event.payload)
    found = stream.emit(event_type=EventType.BAD_NODE, rule=rule, derived_from=event, symptom=symptom, payload=payload)
    stream.discard(event, by=rule, explained_by=found)
