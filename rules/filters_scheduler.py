"""Filters that read scheduler evidence together: who stopped a job, what recovered, what an operator's note means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.evidence import first_before

from attribution_lib.rule_api import EventType, FilterPriority, Outcome, StateClass, event_order, filter_def

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, FilterContext, JobInfo

AUTHOR = "Attribution maintainers"
BARE_CANCELLATION = "Cancelled (Slurm)"
TASK_FAILURE = "Cancelled due to task failure"
BY_USER = "Cancelled by user"
BY_OPERATOR = "Cancelled by an operator"
TASK_ENDED = ("Task ended (Slurm)", "Task killed (srun)", "Task aborted (srun)", "Task crashed by signal (srun)")
ADMINISTRATORS = frozenset({"0", "root", "admin", "slurm", "system", "kubernetes-admin", "kueue", "system:admin"})
LOST_CONNECTIONS = ("Lustre connection lost", "NFS server not responding")
RESTORED = "Storage connection restored"
EXEC_FORMAT = "Exec format error"
STALE_IMAGE = "Image copy on the node is damaged or of another architecture"
MAINTENANCE_NOTE = "Maintenance note of the operators"
TAKEN_BY_OPERATORS = "Node taken by its operators"
REBOOTED = "Node unexpectedly rebooted"
NODE_LOST = "Node lost (cluster manager)"
LIMITS = ("Memory limit exceeded (batch system)", "CPU limit exceeded (batch system)")
REBOOTED_TOGETHER = "Nodes rebooted together"
OPERATOR_ACTIONS = (
    "Operator rebooted the node",
    "Power button pressed",
    "Cloud maintenance of the machine",
    "Pod drained from its node",
)
_STOPPED_CODES = frozenset({"15", "129", "130", "137", "143"})
"""Exit codes of a task that was told to stop: they follow a cancellation and cause none."""
_SECOND = 1_000_000
_AFTER_THE_END = 120 * _SECOND
_EARLIER = 60 * _SECOND
_TOGETHER = 120 * _SECOND
_MANY_NODES = 3
_SPECIFIC_RANK = 550
_FAILED = (StateClass.FAILED, StateClass.NODE_FAIL)


@filter_def("StepKilledByTaskFailure", AUTHOR, priority=FilterPriority.EARLY + 200)
def step_killed_by_task_failure(context: FilterContext) -> None:
    """``*** STEP … CANCELLED AT … ***`` is no cancellation when a task of the step failed before, or the job failed.

    Before 25.05 Slurm prints the same line for scancel and for kill-on-bad-exit; only steps are killed by the latter.
    """
    stream = context.event_stream
    failure_before = first_before(event for event in stream.bad(TASK_ENDED) if _is_failure(event))
    for stop in stream.events(symptom=BARE_CANCELLATION, type=EventType.JOB_STOP):
        if not str(stop.payload.get("entity", "")).startswith("STEP"):
            continue
        failed = failure_before(stop)
        if failed is not None or context.job.state_class in _FAILED:
            echo = stream.emit(
                event_type=EventType.BAD_NODE,
                rule="StepKilledByTaskFailure",
                derived_from=stop,
                symptom=TASK_FAILURE,
                payload=stop.payload,
            )
            stream.discard(stop, by="StepKilledByTaskFailure", explained_by=failed or echo)


def _is_failure(event: Event) -> bool:
    code = event.payload.get("code")
    if event.symptom == "Task ended (Slurm)":
        return code is not None and str(code) not in _STOPPED_CODES
    return True


@filter_def("NamedStopBeforeCancellation", AUTHOR, priority=FilterPriority.EARLY + 205)
def named_stop_before_cancellation(context: FilterContext) -> None:
    """A cancellation without an author that follows a stop with one (a kill switch, a preemption) carries it out."""
    stream = context.event_stream
    stops = stream.events(type=EventType.JOB_STOP)
    named = first_before(stop for stop in stops if stop.symptom != BARE_CANCELLATION and stop.line_num is not None)
    for stop in stops:
        if stop.symptom == BARE_CANCELLATION:
            before = named(stop)
            if before is not None:
                stream.discard(stop, by="NamedStopBeforeCancellation", explained_by=before)


@filter_def("ServerCleansUpLostNode", AUTHOR, priority=FilterPriority.EARLY + 207)
def server_cleans_up_lost_node(context: FilterContext) -> None:
    """PBS mails `Job deleted at request of root` with a node failure or an exceeded limit: nobody cancelled."""
    stream = context.event_stream
    lost: dict[str, Event] = {}
    for event in stream.bad([NODE_LOST, *LIMITS]):
        lost.setdefault(event.stream, event)
    for stop in stream.events(symptom=BY_OPERATOR, type=EventType.JOB_STOP):
        reason = lost.get(stop.stream)
        if stop.rule.startswith("BatchSystemEnding") and reason is not None:
            stream.discard(stop, by="ServerCleansUpLostNode", explained_by=reason)


@filter_def("WhoCancelled", AUTHOR, priority=FilterPriority.EARLY + 210)
def who_cancelled(context: FilterContext) -> None:
    """A stop line that names who did it: the job's own user, an administrator, or another account."""
    stream = context.event_stream
    for stop in stream.events(symptom=BY_USER, type=EventType.JOB_STOP):
        who = str(stop.payload.get("by", ""))
        if _is_operator(who, context.job):
            stream.emit(
                event_type=EventType.JOB_STOP,
                rule="WhoCancelled",
                derived_from=stop,
                symptom=BY_OPERATOR,
                payload=stop.payload,
            )
            stream.discard(stop, by="WhoCancelled")


def _is_operator(who: str, job: JobInfo) -> bool:
    """A uid cannot be compared with a user's name; a service account of the cluster is never the user."""
    if not who or who == job.user:
        return False
    if who in ADMINISTRATORS or who.startswith("system:"):
        return True
    return bool(job.user) and who.isdigit() == job.user.isdigit()


@filter_def("StorageRestored", AUTHOR, priority=FilterPriority.MID + 200)
def storage_restored(context: FilterContext) -> None:
    """A file system that was reached again had an interruption, no failure: the restored line closes the lost one."""
    stream = context.event_stream
    restored: dict[str | None, list[Event]] = {}
    for event in stream.events(symptom=RESTORED):
        restored.setdefault(event.node, []).append(event)
    for lost in stream.bad(LOST_CONNECTIONS) if restored else ():
        nodes = set(restored) if lost.node is None else {lost.node, None}
        found = (event for node in nodes for event in restored.get(node, ()) if _closes(event, lost))
        closing = min(found, key=event_order, default=None)
        if closing is not None:
            stream.demote(lost, by="StorageRestored", explained_by=closing)


def _closes(restored: Event, lost: Event) -> bool:
    same_client = restored.node == lost.node or None in (restored.node, lost.node)
    what = "target" if lost.symptom == LOST_CONNECTIONS[0] else "server"
    if not same_client or restored.payload.get(what) != lost.payload.get(what):
        return False
    if restored.last.timestamp is not None and lost.last.timestamp is not None:
        return restored.last.timestamp >= lost.last.timestamp
    return restored.stream == lost.stream and (restored.last.line_num or 0) >= (lost.last.line_num or 0)


@filter_def("ImageBrokenOnSomeNodes", AUTHOR, priority=FilterPriority.MID + 210)
def image_broken_on_some_nodes(context: FilterContext) -> None:
    """Where only some nodes of the job cannot execute the image, it is their copy of it, not the user's image."""
    stream, nodes = context.event_stream, set(context.job.nodes)
    events = stream.bad([EXEC_FORMAT])
    bearing = {event.node for event in events if event.node is not None}
    if not bearing or not bearing < nodes or any(event.node is None for event in events):
        return
    for event in events:
        stream.emit(
            event_type=EventType.BAD_NODE,
            rule="ImageBrokenOnSomeNodes",
            derived_from=event,
            symptom=STALE_IMAGE,
            payload=event.payload,
        )
        stream.discard(event, by="ImageBrokenOnSomeNodes")


@filter_def("NodesRebootedTogether", AUTHOR, priority=FilterPriority.STANDARD + 190)
def nodes_rebooted_together(context: FilterContext) -> None:
    """All nodes of a job rebooting within two minutes is their common power, not one machine after the other."""
    stream, nodes = context.event_stream, set(context.job.nodes)
    events = [event for event in stream.bad([REBOOTED]) if event.node in nodes and event.first.timestamp is not None]
    times = [event.first.timestamp for event in events if event.first.timestamp is not None]
    if len(nodes) < _MANY_NODES or {event.node for event in events} != nodes or max(times) - min(times) > _TOGETHER:
        return
    for event in stream.bad([REBOOTED]):
        stream.emit(
            event_type=EventType.BAD_NODE,
            rule="NodesRebootedTogether",
            derived_from=event,
            symptom=REBOOTED_TOGETHER,
            payload=event.payload,
        )
        stream.discard(event, by="NodesRebootedTogether")


@filter_def("MaintenanceTookTheNode", AUTHOR, priority=FilterPriority.STANDARD + 200)
def maintenance_took_the_node(context: FilterContext) -> None:
    """A maintenance note is why the job lost a node only if it is about a node that the job lost."""
    stream = context.event_stream
    notes = stream.events(symptom=MAINTENANCE_NOTE)
    lost = {event.node for event in _node_losses(context) if event.node is not None} if notes else set()
    for note in notes:
        node = note.node or (next(iter(lost)) if len(lost) == 1 else None)
        if node in lost:
            stream.emit(
                event_type=EventType.BAD_NODE,
                rule="MaintenanceTookTheNode",
                derived_from=note,
                symptom=TAKEN_BY_OPERATORS,
                node=node,
                payload=note.payload,
            )


@filter_def("OperatorCameLater", AUTHOR, priority=FilterPriority.STANDARD + 210)
def operator_came_later(context: FilterContext) -> None:
    """An operator who reboots or drains a node after the job failed reacts to the failure."""
    stream, job = context.event_stream, context.job
    actions = stream.bad(OPERATOR_ACTIONS)
    if not actions:
        return
    others = _earliest(stream.bad([name for name in stream.symptoms() if _is_specific(name, context)]))
    for action in actions:
        when = action.first.timestamp
        if when is None:
            continue
        if job.end is not None and when > job.end + _AFTER_THE_END:
            stream.demote(action, by="OperatorCameLater")
            continue
        before = _first_before(others, when - _EARLIER)
        if before is not None:
            stream.demote(action, by="OperatorCameLater", explained_by=before)


def _node_losses(context: FilterContext) -> Iterable[Event]:
    stream, registry = context.event_stream, context.registry
    return stream.bad([name for name in stream.symptoms() if registry.get(name).outcome is Outcome.NODE_DOWN])


def _is_specific(name: str, context: FilterContext) -> bool:
    symptom = context.registry.get(name)
    return (
        name not in OPERATOR_ACTIONS
        and symptom.root
        and symptom.rank >= _SPECIFIC_RANK
        and symptom.outcome is not Outcome.NODE_DOWN
    )


def _earliest(events: Iterable[Event]) -> list[Event]:
    """The events that are earlier than all before them: for any limit, the first that keeps it is one of these."""
    found: list[Event] = []
    for event in events:
        at = event.first.timestamp
        if at is not None and (not found or at < (found[-1].first.timestamp or 0)):
            found.append(event)
    return found


def _first_before(events: Iterable[Event], limit: int) -> Event | None:
    return next(
        (event for event in events if event.first.timestamp is not None and event.first.timestamp < limit), None
    )
