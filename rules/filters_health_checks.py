"""Second-hand facts, health checks and drain reasons, beside an ending that a person or a limit caused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import EventType, FilterContext, FilterPriority, StateClass, filter_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event

AUTHOR = "attribution maintainers"
SECOND_HAND = (
    "Drain reason names a GPU fault",
    "Drain reason names a hardware fault",
    "Health check misses a file system",
    "Health check misses a service of the node",
)
SIGN_OF_FAILURE = 300
"""Symptoms below this rank are echoes and noise."""
_ENDED_OTHERWISE = (StateClass.CANCELLED, StateClass.PREEMPTED, StateClass.TIMEOUT)
_FAILED = (StateClass.FAILED, StateClass.NODE_FAIL)


@filter_def(name="HealthCheckBesideAStop", author=AUTHOR, priority=FilterPriority.LATE)
def forgive_health_checks_beside_a_stop(context: FilterContext) -> None:
    """A cancelled, preempted or timed-out job that shows no failure did not end for what a health check found."""
    stream = context.event_stream
    stops = stream.events(type=EventType.JOB_STOP)
    if context.job.state_class in _FAILED or not (stops or context.job.state_class in _ENDED_OTHERWISE):
        return
    told = [event for event in stream.bad() if event.symptom in SECOND_HAND]
    if told and not any(_failure(event, context) for event in stream.bad() if event.symptom not in SECOND_HAND):
        for event in told:
            stream.demote(event, by="HealthCheckBesideAStop", explained_by=next(iter(stops), None))


def _failure(event: Event, context: FilterContext) -> bool:
    return event.symptom is not None and context.registry.get(event.symptom).rank >= SIGN_OF_FAILURE
