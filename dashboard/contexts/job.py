"""What a verdict is on: the job as the scheduler knew it, and the runs that attributed it."""

from __future__ import annotations

from attribution_lib.taxonomy import SubDomain
from dashboard.contexts.model import Context, Fact

__all__ = ["JobFacts", "RunFacts", "RunLink"]


class JobFacts(Context):
    """What the scheduler knew."""

    cluster: str
    """Cluster."""
    job_id: str
    """Id of the job."""
    attempt: int
    """0 for the first."""
    name: str
    """As submitted."""
    user: str
    """Whose."""
    partition: str
    """Partition or queue."""
    scheduler: str
    """Which scheduler."""
    state: str
    """The scheduler's word."""
    state_class: str
    """What that word means."""
    exit_code: str
    """``code:signal``."""
    reason: str
    """The scheduler's reason."""
    nodes: int
    """How many nodes."""
    node_list: str
    """Their names, folded; at most 2,000 characters of it."""
    failed_node: str
    """Where the scheduler itself names one."""
    start: str
    """Empty when unknown."""
    end: str
    """Empty when unknown."""
    duration_seconds: int | None
    """From start to end; null when either is unknown."""
    labels: tuple[Fact, ...]
    """The job's labels."""


class RunLink(Context):
    """Another verdict on the same attempt."""

    run_id: str
    """Which run."""
    attributed_at: str
    """When."""
    sub_domain: SubDomain
    """What it said."""
    symptom: str
    """Its root symptom."""
    latest: bool
    """Whether it is the one in force."""
    shown: bool
    """Whether it is the one on this page."""


class RunFacts(Context):
    """Which verdict this is."""

    run_id: str
    """The run."""
    attributor_id: str
    """The session that it was made in."""
    attributed_at: str
    """When."""
    latest: bool
    """Whether it is the latest of this attempt."""
    runs: tuple[RunLink, ...]
    """All runs of this attempt, newest first, this one included."""
