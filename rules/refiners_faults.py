"""Faults of machines beside errors that only the program brings about: did the job meet the fault at all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.machine_faults import PROGRAM_ONLY, Met, SignsOfFaults, is_machine_fault

from attribution_lib.rule_api import (
    Confidence,
    EventType,
    Outcome,
    RefinerPriority,
    Source,
    StateClass,
    outcomes,
    refiner_def,
)

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event, EventStream, RefinerContext

AUTHOR = "attribution maintainers"
_CONTENDER = 400
_STEP_SECONDS = 60
_STEP_LINES = 20
_ENDED_BY_ITSELF = (StateClass.FAILED, StateClass.RUNNING, StateClass.UNKNOWN)


@refiner_def("FaultNotMet", AUTHOR, priority=RefinerPriority.FINAL + 490, symptoms=PROGRAM_ONLY)
def fault_not_met(context: RefinerContext) -> None:
    """A fault of a GPU, link or host is not why a job ended whose program ended by an error that is only its own.

    So it is where nothing else in the program's output can come from the fault: no CUDA error, no failed collective,
    no crash. `SyntaxError` seconds after an Xid of another process on a shared node, or minutes before the job's own
    GPU is lost, has its cause in the program. The node stays interesting.
    """
    if not _ended_by_itself(context):
        return
    errors = _own_errors(context)
    faults = _faults(context) if errors else []
    if not faults:
        return
    signs = SignsOfFaults(context.event_stream, context.registry)
    for error in errors:
        beside = signs.beside(error)
        missed = [fault for fault in faults if beside.met(fault) is Met.NO]
        context.event_stream.demote_all(missed, by="FaultNotMet", uncertain=True)


@refiner_def(
    "FaultPerhapsMet",
    AUTHOR,
    priority=RefinerPriority.POST_OUTCOME + 10,
    symptoms=PROGRAM_ONLY,
)
def fault_perhaps_met(context: RefinerContext) -> None:
    """A failed collective may come from a fault or from the program's own error; memory may run out beside a fault."""
    choice = context.choice
    if choice is None or choice.root is None or not is_machine_fault(choice.root.symptom, context.registry):
        return
    errors = _own_errors(context) if _ended_by_itself(context) else []
    if not errors:
        return
    signs = SignsOfFaults(context.event_stream, context.registry)
    for error in errors:
        if signs.beside(error).met(choice.root) is Met.PERHAPS:
            reason = f"{error.symptom} ends a program as well, and no fault of a machine brings it about"
            context.set_outcome(Outcome.AMBIGUOUS, reason)
            choice.lower(Confidence.LOW, reason)
            return


def _ended_by_itself(context: RefinerContext) -> bool:
    """Whether neither a stop nor a lost node ended the job: what a program prints then may be long survived."""
    stream, job = context.event_stream, context.job
    if job.state_class not in _ENDED_BY_ITSELF or job.failed_node is not None:
        return False
    lost = context.registry.resolve([outcomes(Outcome.NODE_DOWN)])
    return not stream.lists(type=EventType.JOB_STOP) and not stream.lists(type=EventType.BAD_NODE, symptom=lost)


def _own_errors(context: RefinerContext) -> list[Event]:
    """The first of the program's own errors by time, and the first that has none, if no step was made after it."""
    errors = [event for event in context.my_bad_nodes.of(PROGRAM_ONLY) if event.source == Source.APPLOG]
    steps = _last_steps(context.event_stream) if errors else {}
    ended = [event for event in errors if not _went_on(event, steps.get((event.source, event.stream)))]
    timed = [event for event in ended if event.first.timestamp is not None]
    untimed = [event for event in ended if event.first.timestamp is None]
    return [*timed[:1], *untimed[:1]]


def _last_steps(stream: EventStream) -> dict[tuple[str, str], Event]:
    last: dict[tuple[str, str], Event] = {}
    for event in stream.events(type=EventType.JOB_INFO, source=Source.APPLOG):
        place = (event.source, event.stream)
        if event.payload.get("kind") == "progress" and (place not in last or _line(event) > _line(last[place])):
            last[place] = event
    return last


def _line(event: Event) -> int:
    return event.last.line_num or 0


def _went_on(error: Event, step: Event | None) -> bool:
    """Whether the program made steps well after its error, not only those that other ranks were about to print."""
    if step is None:
        return False
    if error.last.timestamp is not None and step.last.timestamp is not None:
        return step.last.timestamp - error.last.timestamp > _STEP_SECONDS * 1_000_000
    return _line(step) - _line(error) > _STEP_LINES


def _faults(context: RefinerContext) -> list[Event]:
    """Faults that could be why the job ended."""
    registry = context.registry
    names = [
        name
        for name in sorted(name for name in context.my_bad_nodes.symptoms if name is not None)
        if is_machine_fault(name, registry) and registry.get(name).root and registry.get(name).rank >= _CONTENDER
    ]
    return context.my_bad_nodes.of(names, in_order=False)
