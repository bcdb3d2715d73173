"""Step 0: how the job ended, from the state class, a supplied cancellation and stop lines.

A stop wins unless an independent fault survives: one that precedes it, or, where nothing can be compared, any
contender that does not also appear in every orderly or forced ending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.job.model import StateClass
from attribution_lib.taxonomy import Outcome, SubDomain, sub_domain_of

if TYPE_CHECKING:
    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.model import SymptomDef
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["JobEnding", "derive_ending", "is_independent"]

_SPECIFIC = (Outcome.PREEMPTED, Outcome.TIME_LIMIT)
_CANCELLED = (Outcome.USER_CANCELLED, Outcome.OPERATOR_CANCELLED)


@dataclass(frozen=True, slots=True)
class JobEnding:
    """How the job ended. ``event`` is the line that says so; ``time`` (µs UTC) is None when nobody knows when."""

    outcome: Outcome
    event: Event | None
    time: int | None


def derive_ending(stream: EventStream, job: JobInfo, registry: GeneratedSymptomRegistry) -> JobEnding | None:
    """The one ending of this job, or None when nothing says that it was stopped or completed.

    A supplied cancellation beats everything, COMPLETED beats every line, lines beat the bare state.
    """
    stops = [
        _Stop(event, outcome)
        for event in stream.events(type=EventType.JOB_STOP)
        if event.symptom is not None and sub_domain_of(outcome := registry.get(event.symptom).outcome) is SubDomain.NONE
    ]
    lines = [stop for stop in stops if stop.event.line_num is not None]
    facts = [stop for stop in stops if stop.event.line_num is None]
    completion = next((stop.event for stop in lines if stop.outcome is Outcome.SUCCESS), None)
    lines = [stop for stop in lines if stop.outcome is not Outcome.SUCCESS]
    if job.execution_cancellation is not None and facts:
        outcome = facts[0].outcome
        line = next((stop.event for stop in lines if stop.outcome in _CANCELLED), facts[0].event)
        return JobEnding(outcome, line, job.execution_cancellation.time)
    if job.state_class is StateClass.COMPLETED:
        return JobEnding(Outcome.SUCCESS, completion, None)
    if lines:
        return _from_lines(lines, facts)
    return JobEnding(facts[0].outcome, facts[0].event, None) if facts else None


@dataclass(frozen=True, slots=True)
class _Stop:
    event: Event
    outcome: Outcome


def _from_lines(lines: list[_Stop], facts: list[_Stop]) -> JobEnding:
    """The first of the most specific stop lines; a state that says more than a bare cancellation lends its outcome."""
    specific = [stop for stop in lines if stop.outcome in _SPECIFIC]
    stop = (specific or lines)[0]
    outcome = stop.outcome
    stated = facts[0].outcome if facts else None
    if not specific and (stated in _SPECIFIC or stated is Outcome.OPERATOR_CANCELLED):
        outcome = stated
    return JobEnding(outcome, stop.event, stop.event.first.timestamp)


def is_independent(event: Event, symptom: SymptomDef, ending: JobEnding) -> bool:
    """Whether a contender is a fault of its own rather than part of the ending."""
    if ending.outcome is Outcome.SUCCESS:
        return False
    if event.first.timestamp is not None and ending.time is not None:
        return event.first.timestamp < ending.time or (
            event.first.timestamp == ending.time and _precedes_in_stream(event, ending.event)
        )
    if ending.event is not None and _same_stream(event, ending.event):
        return _precedes_in_stream(event, ending.event)
    return not symptom.teardown


def _same_stream(event: Event, stop: Event) -> bool:
    """Scheduler facts stand on no line, so nothing precedes or follows them."""
    lines = event.line_num is not None and stop.line_num is not None
    return lines and (event.source, event.stream) == (stop.source, stop.stream)


def _precedes_in_stream(event: Event, stop: Event | None) -> bool:
    if stop is None or not _same_stream(event, stop):
        return False
    return (event.first.line_num or 0) < (stop.first.line_num or 0)
