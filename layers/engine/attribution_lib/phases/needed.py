"""Which evidence would decide, were it there: asked for only where the verdict is not sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_lib.phases.times import rfc3339
from attribution_lib.taxonomy import Confidence, SubDomain, sub_domain_of
from attribution_lib.verdict import NeededEvidence

if TYPE_CHECKING:
    from collections.abc import Collection

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.contexts import OutcomeChoice

__all__ = ["needed_evidence"]

_WHY = {
    Source.APPLOG: "the job's own output would show which rank failed first and with what error",
    Source.SYSLOG: "kernel lines of the job's nodes would show or rule out XID, PCIe, memory and link faults",
    Source.SCHEDULER: "controller and daemon lines would show whether a node was lost, drained or rebooted",
    Source.NODE_METRICS: "GPU and link counters would show or rule out a failing part",
}
_UNDECIDED = (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)


def needed_evidence(job: JobInfo, choice: OutcomeChoice, read: Collection[str]) -> list[NeededEvidence]:
    """One row per source of which nothing was ``read``, for an undecided verdict or one of low confidence."""
    if sub_domain_of(choice.outcome) not in _UNDECIDED and choice.confidence is not Confidence.LOW:
        return []
    node = choice.root.node if choice.root is not None else job.failed_node
    return [
        NeededEvidence(
            source=source.value,
            node=node,
            **{"from": rfc3339(job.start)},
            to=rfc3339(job.end),
            why=why,
        )
        for source, why in _WHY.items()
        if source.value not in read
    ]
