"""What the job's own record, and what happened before its end, add once the outcome is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import (
    Confidence,
    EventType,
    Outcome,
    RefinerContext,
    RefinerPriority,
    SubDomain,
    outcomes,
    refiner_def,
)

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event

_UNNAMED_NODE_FAILURE = "Job ended by a node failure"
_SILENT = "No step for long before the stop"
_STUCK_MICROSECONDS = 60_000_000
"""What fails so long before a job was stopped is no part of the stop."""


@refiner_def(
    name="FailedNodeOfTheRecord",
    author="attribution maintainers",
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=(_UNNAMED_NODE_FAILURE,),
)
def failed_node_of_the_record(context: RefinerContext) -> None:
    """A line that says "due to node failure" is printed by a survivor; the scheduler's record names the node."""
    choice, failed = context.choice, context.job.failed_node
    if choice is None or choice.root is None or choice.root.symptom != _UNNAMED_NODE_FAILURE or failed is None:
        return
    choice.suspects = [failed]
    choice.suspect_reason = "the scheduler's record names it as the failed node"


@refiner_def(
    name="StuckBeforeItWasStopped",
    author="attribution maintainers",
    priority=RefinerPriority.POST_OUTCOME,
)
def stuck_before_it_was_stopped(context: RefinerContext) -> None:
    """A communication failure well before a stop and no step after it, or just no step: the job may have hung.

    Neither names a cause, so the stop stays the verdict, but it is not sure, and what was found is shown beside it.
    """
    choice = context.choice
    if choice is None or choice.root is None or not _was_stopped(context, choice.root):
        return
    ended = choice.root.first.timestamp or context.job.end
    waited = context.my_bad_nodes.of(context.registry.resolve([outcomes(Outcome.COMMUNICATION_FAILURE)]))
    if ended is None:
        return
    last_step = _last_step(context) if waited else None
    for event in waited:
        at = event.last.timestamp
        if at is None or ended - at < _STUCK_MICROSECONDS or (last_step is not None and last_step > at):
            continue
        choice.lower(Confidence.MEDIUM, f"the job may have hung before it was stopped: {event.symptom}")
        choice.alternatives.append(event)
        choice.alternative_reasons[event.symptom or ""] = (
            "before the stop, with no step after it: the job may have hung"
        )
        return
    for event in context.event_stream.events(symptom=_SILENT):
        choice.confidence = Confidence.MEDIUM
        choice.alternatives.append(event)
        silent, usual = event.payload.get("silent"), event.payload.get("usual_step")
        choice.alternative_reasons[_SILENT] = f"no step for {silent} before the stop, usually one in {usual}"


def _was_stopped(context: RefinerContext, root: Event) -> bool:
    if root.symptom is None or context.outcome is Outcome.SUCCESS:
        return False
    return context.registry.sub_domain(root.symptom) is SubDomain.NONE


def _last_step(context: RefinerContext) -> int | None:
    told = context.event_stream.events(type=EventType.JOB_INFO)
    steps = (event.last.timestamp for event in told if event.payload.get("kind") == "progress")
    return max((step for step in steps if step is not None), default=None)
