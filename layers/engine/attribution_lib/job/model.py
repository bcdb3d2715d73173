"""What the scheduler knew about one attempt of one workload; built only by ``JobInfoBuilder``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.names import NodeNames

__all__ = [
    "ExecutionCancellation",
    "JobIdentity",
    "JobInfo",
    "RankPlacement",
    "Scheduler",
    "SchedulerFailure",
    "StateClass",
]


class Scheduler(StrEnum):
    """Who ran the job; ``static`` has no vocabulary of its own."""

    SLURM = "slurm"
    KUEUE = "kueue"
    KAI = "kai"
    BATCH = "batch"
    SAGEMAKER = "sagemaker"
    STATIC = "static"


class StateClass(StrEnum):
    """What a raw scheduler state means, whatever the scheduler (one table: ``job/states.py``)."""

    COMPLETED = "completed"
    FAILED = "failed"
    NODE_FAIL = "node_fail"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    TIMEOUT = "timeout"
    RUNNING = "running"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RankPlacement:
    """Where one global rank ran."""

    rank: int
    node: str
    local_rank: int | None = None
    gpu_uuid: str | None = None
    pci: str | None = None


@dataclass(frozen=True, slots=True)
class SchedulerFailure:
    """The failure of the allocation a record belongs to; ``time`` (µs UTC) is when it was reported, never an order."""

    allocation_id: str
    state: str
    failed_node: str | None
    source: str
    time: int


@dataclass(frozen=True, slots=True)
class ExecutionCancellation:
    """A cancellation that the caller has established for this record; ``time`` is µs UTC."""

    record_id: str
    cancelled_by: str
    time: int


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """The frozen view of a job that extractors and accumulators may read: nothing that can still change."""

    job_id: str
    attempt: int
    cluster: str
    scheduler: Scheduler


@dataclass(frozen=True, slots=True)
class JobInfo:
    """One attempt of one workload. Times are µs since the epoch, UTC; node names are canonical (see ``names``)."""

    job_id: str
    attempt: int = 0
    cluster: str = "default"
    scheduler: Scheduler = Scheduler.STATIC
    user: str = ""
    name: str = ""
    partition: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    node_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    state: str = ""
    state_class: StateClass = StateClass.UNKNOWN
    state_listed: bool = True
    """False when ``state`` was given and the state table does not know it: goes to diagnostics."""
    exit_code: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    failed_node: str | None = None
    ranks: tuple[RankPlacement, ...] = ()
    start: int | None = None
    end: int | None = None
    timezone: str = "UTC"
    margin_before: int = 600
    """Seconds."""
    margin_after: int = 900
    """Seconds."""
    allocation_failure: SchedulerFailure | None = None
    execution_cancellation: ExecutionCancellation | None = None
    names: NodeNames | None = None
    """How node names of evidence are compared with this job's."""

    @property
    def identity(self) -> JobIdentity:
        """What extractors may read."""
        return JobIdentity(self.job_id, self.attempt, self.cluster, self.scheduler)
