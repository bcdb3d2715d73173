"""What the scheduler's own facts say, as events: derived from the job at every attribution, never stored.

No line stands behind them (source ``scheduler``, stream "", no line number); where a log line says the same, that line
is the better evidence. Only an established cancellation carries a time: start and end are nobody's evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.events.event import Clock, Event, EventType, Position
from attribution_lib.job.model import StateClass
from attribution_lib.job.states import NamedFault, cancelling_user, named_fault, parse_exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.job.model import JobInfo

__all__ = [
    "CANCELLED_BY_OPERATOR",
    "CANCELLED_BY_USER",
    "FACTS_RULE",
    "NAMED_FAULTS",
    "NODE_FAILURE",
    "STATE_SYMPTOMS",
    "inherited_node_failure",
    "scheduler_evidence",
    "scheduler_facts",
]

FACTS_RULE = "SchedulerFacts"
"""The rule name that these events carry."""
NODE_FAILURE = "Slurm node failure"
CANCELLED_BY_USER = "Execution cancelled by its user"
CANCELLED_BY_OPERATOR = "Execution cancelled by an operator"
NAMED_FAULTS: dict[NamedFault, str] = {
    NamedFault.MEMORY: "Scheduler state OUT_OF_MEMORY",
    NamedFault.BOOT: "Scheduler state BOOT_FAIL",
}
STATE_SYMPTOMS: dict[StateClass, str] = {
    StateClass.COMPLETED: "Scheduler state COMPLETED",
    StateClass.FAILED: "Scheduler state FAILED",
    StateClass.NODE_FAIL: "Scheduler state NODE_FAIL",
    StateClass.CANCELLED: "Scheduler state CANCELLED",
    StateClass.PREEMPTED: "Scheduler state PREEMPTED",
    StateClass.TIMEOUT: "Scheduler state TIMEOUT",
    StateClass.RUNNING: "Scheduler state RUNNING",
    StateClass.UNKNOWN: "Scheduler state UNKNOWN",
}
_STOPPED = frozenset({StateClass.CANCELLED, StateClass.PREEMPTED, StateClass.TIMEOUT})
_ADMINISTRATORS = frozenset({"0", "root", "slurm", "slurmctld"})


def scheduler_facts(job: JobInfo) -> list[Event]:
    """The events that follow from the job's state, failed node and established cancellation, in a fixed order.

    One ``Attribution.scheduler.state`` event when the scheduler said anything; a bad-node event for a node failure
    that is this record's own and for a failed state that names its fault (OUT_OF_MEMORY, BOOT_FAIL); a stop event for a
    cancellation, preemption or time limit.
    """
    events: list[Event] = []
    datum = scheduler_evidence(job)
    if datum:
        events.append(_fact(job, EventType.SCHEDULER_STATE, STATE_SYMPTOMS[job.state_class], datum, job.failed_node))
    if job.state_class is StateClass.NODE_FAIL and not inherited_node_failure(job):
        events.append(_fact(job, EventType.BAD_NODE, NODE_FAILURE, datum, job.failed_node))
    fault = named_fault(job.state, reason=job.reason) if job.state_class is StateClass.FAILED else None
    if fault is not None:
        events.append(_fact(job, EventType.BAD_NODE, NAMED_FAULTS[fault], datum, None))
    if job.execution_cancellation is not None:
        events.append(_established_cancellation(job))
    elif job.state_class is StateClass.CANCELLED:
        symptom = CANCELLED_BY_OPERATOR if _cancelled_by_other(job) else CANCELLED_BY_USER
        events.append(_fact(job, EventType.JOB_STOP, symptom, datum, None))
    elif job.state_class in _STOPPED:
        events.append(_fact(job, EventType.JOB_STOP, STATE_SYMPTOMS[job.state_class], datum, None))
    return events


def scheduler_evidence(job: JobInfo) -> str:
    """The facts in scontrol's manner: ``State=FAILED ExitCode=1:0 Reason=NodeFail``; empty when none was given."""
    given = (("State", job.state), ("ExitCode", job.exit_code), ("Reason", job.reason))
    return " ".join(f"{key}={value}" for key, value in given if value)


def inherited_node_failure(job: JobInfo) -> bool:
    """True when a NODE_FAIL belongs to the allocation and not to this record.

    Only with an established cancellation, and only when the allocation's failed node is not among the record's nodes,
    unless the record's own ``failed_node`` names a different node that is.
    """
    failure = job.allocation_failure
    if failure is None or job.execution_cancellation is None or job.state_class is not StateClass.NODE_FAIL:
        return False
    if failure.failed_node is None or not job.nodes or failure.failed_node in job.nodes:
        return False
    own = job.failed_node
    return not (own is not None and own != failure.failed_node and own in job.nodes)


def _established_cancellation(job: JobInfo) -> Event:
    cancellation = job.execution_cancellation
    assert cancellation is not None  # noqa: S101 -- narrows the type; the caller has checked
    by_user = bool(job.user) and cancellation.cancelled_by == job.user
    symptom = CANCELLED_BY_USER if by_user else CANCELLED_BY_OPERATOR
    datum = f"Record {cancellation.record_id} cancelled by {cancellation.cancelled_by}"
    payload = {"record_id": cancellation.record_id, "cancelled_by": cancellation.cancelled_by}
    return _fact_event(EventType.JOB_STOP, symptom, datum, payload, timestamp=cancellation.time)


def _cancelled_by_other(job: JobInfo) -> bool:
    """Whether ``CANCELLED by 0`` names somebody else than the job's user.

    A uid cannot be compared with a user's name: any uid but an administrator's then passes for the user's own.
    """
    who = cancelling_user(job.state)
    if not who or who == job.user:
        return False
    return who in _ADMINISTRATORS or (bool(job.user) and who.isdigit() == job.user.isdigit())


def _fact(job: JobInfo, event_type: EventType, symptom: str, datum: str, node: str | None) -> Event:
    payload: dict[str, object] = {"state": job.state, "state_class": job.state_class.value}
    if job.reason:
        payload["reason"] = job.reason
    if job.exit_code:
        payload["exit_code"] = job.exit_code
        status = parse_exit_code(job.exit_code)
        if status is not None and status.signal:
            payload["signal"] = status.signal
    return _fact_event(event_type, symptom, datum, payload, node=node)


def _fact_event(  # noqa: PLR0913 -- one argument a fact
    event_type: EventType,
    symptom: str,
    datum: str,
    payload: Mapping[str, object],
    *,
    node: str | None = None,
    timestamp: int | None = None,
) -> Event:
    position = Position(timestamp, "", None)
    return Event(
        event_type=event_type,
        rule=FACTS_RULE,
        source="scheduler",
        stream="",
        line_num=None,
        timestamp=timestamp,
        clock=Clock.NONE if timestamp is None else Clock.UTC,
        node=node,
        rank=None,
        device=None,
        symptom=symptom,
        payload=dict(payload),
        datum=datum,
        first=position,
        last=position,
    )
