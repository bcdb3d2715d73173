"""Which evidence would decide, were it there: asked for only where the verdict is not sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_lib.phases.times import rfc3339
from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, sub_domain_of
from attribution_lib.verdict import NeededEvidence

if TYPE_CHECKING:
    from collections.abc import Collection

    from attribution_lib.events.event import Event
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.contexts import OutcomeChoice

__all__ = ["needed_evidence"]

_WHY = {
    Source.APPLOG: "the job's own output would show which rank failed first and with what error",
    Source.SYSLOG: "kernel lines would show or rule out XID, PCIe, memory and link faults",
    Source.SCHEDULER: "controller and daemon lines would show whether a node was lost, drained or rebooted",
    Source.NODE_METRICS: "GPU and link counters would show or rule out a failing part",
}
_UNDECIDED = (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)
_OF_NODES = (Source.SYSLOG, Source.NODE_METRICS)
"""Sources that are asked for node by node when several are suspects."""
_SUSPECTS_ASKED = 4
_BEFORE = 30 * 60 * 1_000_000
_AFTER = 5 * 60 * 1_000_000
"""What breaks a job shows in the half-hour before its symptom; clocks and buffers blur a few minutes after it."""


def needed_evidence(job: JobInfo, choice: OutcomeChoice, read: Collection[str]) -> list[NeededEvidence]:
    """For an undecided verdict, one of low confidence and what a rule asks for: a row per source that was not ``read``.

    Rows name the suspect nodes and the time around the root symptom where these are known, else the whole run.
    """
    undecided = sub_domain_of(choice.outcome) in _UNDECIDED or choice.confidence is Confidence.LOW
    start, end = _window(job, choice.root)
    place = _place(job, choice)
    return [
        NeededEvidence(source=source.value, node=asked, **{"from": rfc3339(start)}, to=rfc3339(end), why=why)
        for source, why in _WHY.items()
        if source.value not in read and (undecided or source in choice.wanted)
        for asked in (choice.suspects[:_SUSPECTS_ASKED] if source in _OF_NODES and choice.suspects else [place])
    ]


def _place(job: JobInfo, choice: OutcomeChoice) -> str | None:
    """The one node to ask about; None: all nodes of the job.

    Who waited in vain for a peer and says so stands on a healthy node as a rule.
    """
    if choice.outcome is Outcome.COMMUNICATION_FAILURE and len(job.nodes) != 1:
        return job.failed_node
    return (choice.root.node if choice.root is not None else None) or job.failed_node


def _window(job: JobInfo, root: Event | None) -> tuple[int | None, int | None]:
    """When to look, in µs: about the root symptom, within the run."""
    first = root.first.timestamp if root is not None else None
    if first is None:
        return job.start, job.end
    start, end = first - _BEFORE, first + _AFTER
    return (
        start if job.start is None or job.start > first else max(start, job.start),
        end if job.end is None or job.end < first else min(end, job.end),
    )
