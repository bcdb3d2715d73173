"""One attempt of one workload as an adapter found it: what the scheduler knows, and where its evidence lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import DiscoveryError
from attribution_lib.errors import JobError
from attribution_lib.job.builder import JobInfoBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.job.model import JobInfo
    from attribution_lib.names import NodeNames
    from attribution_lib.observation import Source

__all__ = ["EvidencePlace", "ExecutionContext", "PlaceKind", "Window"]

_MICROS = 1_000_000


class PlaceKind(StrEnum):
    """Who can read a place."""

    FILE = "file"
    """``name``: a path, or Slurm's pattern of one (``%j``, ``%x``, ``%N``, ``%t`` …)."""
    POD = "pod"
    """``name``: namespace/pod, ``part``: the container."""
    CLOUDWATCH = "cloudwatch"
    """``name``: the log group, ``part``: the stream."""
    S3 = "s3"
    """``name``: s3://bucket/key."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """Where the scheduler says that evidence of a job lies; for the collectors that read this kind of place."""

    kind: PlaceKind
    name: str
    part: str = ""
    source: Source | None = None
    """None: whatever the collector's own source is (a job's output is ``applog``)."""
    node: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What to read, in µs since the epoch, UTC: the job's time with its margins. None leaves that side open."""

    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """One attempt of one workload. Made by ``ExecutionContext.of``, which checks the job.

    ``job`` is the ``job`` object of the v2 API as it will be sent (JSON values only); ``info`` is the same, checked.
    """

    job: Mapping[str, Any]
    info: JobInfo
    adapter: str
    """The instance that found it: ``slurm``."""
    places: tuple[EvidencePlace, ...] = ()
    workdir: str = ""
    """Where relative paths of its output begin."""
    asked: bool = False
    """Named by whoever runs this: attributed even if it completed."""
    notes: tuple[str, ...] = field(default=())
    """What is not known and why: ``placement unknown: no recorder ran``."""

    @classmethod
    def of(
        cls, job: Mapping[str, Any], *, adapter: str, names: NodeNames | None = None, **rest: Any
    ) -> ExecutionContext:
        """A context of a job object; ``DiscoveryError`` naming every faulty field."""
        try:
            info = JobInfoBuilder.from_mapping(job, names=names).build()
        except JobError as error:
            msg = f"{adapter}: {error}"
            raise DiscoveryError(msg) from error
        return cls({**job, "job_id": info.job_id}, info, adapter, **rest)

    @property
    def key(self) -> str:
        """``cluster:job_id:attempt``, which is also the default id of its session."""
        return f"{self.info.cluster}:{self.info.job_id}:{self.info.attempt}"

    @property
    def window(self) -> Window:
        """The job's time with its margins."""
        info = self.info
        start = None if info.start is None else info.start - info.margin_before * _MICROS
        end = None if info.end is None else info.end + info.margin_after * _MICROS
        return Window(start, end)
