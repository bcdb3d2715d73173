"""Second-hand facts, health checks and drain reasons, beside an ending that a person or a limit caused."""

from __future__ import annotations

from attribution_lib.rule_api import EventType, FilterContext, FilterPriority, StateClass, filter_def

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
    told = stream.bad(SECOND_HAND)
    others = [name for name in stream.symptoms().difference(SECOND_HAND) if _is_failure(name, context)] if told else []
    if not stream.lists(type=EventType.BAD_NODE, symptom=others):
        stream.demote_all(told, by="HealthCheckBesideAStop", explained_by=next(iter(stops), None))


def _is_failure(symptom: str, context: FilterContext) -> bool:
    return context.registry.get(symptom).rank >= SIGN_OF_FAILURE
