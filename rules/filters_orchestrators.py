"""What the framework or cluster that runs the processes did to them: nodes given away, pods admitted a second time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import EventType, FilterContext, FilterPriority, filter_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event

AUTHOR = "attribution maintainers"
REFUSED = "GPU allocation refused by the node"
START_OBSTACLES = (
    "Image pull keeps failing",
    "Pod network could not be set up",
    "Registry failed during the pull",
    "Volume could not be mounted",
    "Volume not there in time",
)
"""What a pod may meet before its container starts, and what a later attempt may overcome."""
RESTART_SECONDS = 900
"""A kubelet admits the pods that it finds within minutes of its start."""
_MICROSECONDS = 1_000_000
_POD = re.compile(r"\bpod/([\w.-]+)")


@filter_def("PreemptedNodeOfActor", AUTHOR, priority=FilterPriority.MID)
def explain_lost_nodes_by_their_preemption(context: FilterContext) -> None:
    """Ray says `its node has died` first and then that the node was preempted: nothing broke."""
    stream = context.event_stream
    for preempted in stream.events(symptom="Preempted", rule="BatchSystemEnding.node-of-actor")[:1]:
        for lost in stream.bad(["Ray lost a node"]):
            stream.discard(lost, by="PreemptedNodeOfActor", explained_by=preempted)


@filter_def("KeyboardInterruptOfTheLauncher", AUTHOR, priority=FilterPriority.MID)
def explain_keyboard_interrupts_by_the_launcher(context: FilterContext) -> None:
    """Where the launcher says that it got SIGINT, the interrupt that Python prints before it is that Ctrl-C."""
    stream = context.event_stream
    for stop in stream.events(symptom="Interrupted from the keyboard (SIGINT)")[:1]:
        for interrupt in stream.bad(["KeyboardInterrupt"]):
            stream.discard(interrupt, by="KeyboardInterruptOfTheLauncher", explained_by=stop)


@filter_def("PodRefusedAfterKubeletRestart", AUTHOR, priority=FilterPriority.MID)
def name_pods_refused_after_a_restart(context: FilterContext) -> None:
    """A kubelet that restarts admits running pods again and may count their devices twice: the pod did nothing."""
    stream = context.event_stream
    starts = stream.events(symptom="Kubelet started")
    for refused in stream.bad([REFUSED]) if starts else ():
        cause = next((start for start in starts if _just_before(start, refused)), None)
        if cause is not None:
            named = stream.emit(
                event_type=EventType.BAD_NODE,
                rule="PodRefusedAfterKubeletRestart",
                derived_from=refused,
                symptom="GPU pod refused after a kubelet restart",
                node=cause.node,
            )
            stream.discard(refused, by="PodRefusedAfterKubeletRestart", explained_by=named)


def _just_before(start: Event, refused: Event) -> bool:
    if refused.node is not None and start.node != refused.node:
        return False
    if start.first.timestamp is None or refused.first.timestamp is None:
        return False
    return 0 <= refused.first.timestamp - start.first.timestamp <= RESTART_SECONDS * _MICROSECONDS


@filter_def("PodStartedAfterAll", AUTHOR, priority=FilterPriority.MID)
def demote_what_a_start_came_after(context: FilterContext) -> None:
    """Events tell of attempts: where the container started later, what kept it back was overcome and ended no job."""
    stream = context.event_stream
    started = stream.events(symptom="Container started (Kubernetes)")
    for obstacle in stream.bad(START_OBSTACLES) if started else ():
        closing = next((start for start in started if _came_after(start, obstacle)), None)
        if closing is not None:
            stream.demote(obstacle, by="PodStartedAfterAll", explained_by=closing)


def _came_after(start: Event, obstacle: Event) -> bool:
    """Of the same pod as far as the lines say, and later: by time, or by the order of one list of events."""
    pod, other = start.payload.get("workload"), _POD.search(obstacle.datum)
    if start.source != obstacle.source or (pod and other and pod != other[1]):
        return False
    if start.last.timestamp is not None and obstacle.last.timestamp is not None:
        return start.last.timestamp > obstacle.last.timestamp
    return start.stream == obstacle.stream and (start.last.line_num or 0) > (obstacle.last.line_num or 0)
