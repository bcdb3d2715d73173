"""Execution contexts of a job on Kubernetes, one an attempt, whoever schedules it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.eca.kueue.objects import PodFacts, ending
from attribution_blueprint.connectors.eca.slurm.selection import moment
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_blueprint.connectors.eca.kueue.attempts import Attempt

__all__ = ["ContextMaker", "Subject", "owner_reference"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A job, by the object that a user made and the one with which its scheduler queues it."""

    scheduler: str
    namespace: str
    kind: str
    name: str
    queued_as: str
    """The name of the Workload or PodGroup."""
    queue: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other jobs."""
        return self.namespace, self.kind, self.name

    @property
    def spellings(self) -> set[str]:
        """How somebody may ask for it."""
        names = {self.name, self.queued_as}
        return names | {f"{self.namespace}/{name}" for name in names}


def owner_reference(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and name of the object that controls another; None when nobody does."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller", True):
            return str(reference.get("kind")), str(reference.get("name"))
    return None


@dataclass(frozen=True, slots=True)
class ContextMaker:
    """Makes contexts as the settings of an adapter say."""

    adapter: str
    cluster: str
    user_label: str
    recorded: bool
    """Whether placements are recorded."""
    asked: bool

    def context(self, subject: Subject, attempt: Attempt) -> ExecutionContext:
        """One attempt; ``DiscoveryError`` when it makes no job."""
        failed = ending((*attempt.pods, *attempt.recorded))
        nodes = sorted({pod.node for pod in (*attempt.pods, *attempt.recorded) if pod.node})
        labels = {"kind": subject.kind, "namespace": subject.namespace, "workload": subject.queued_as}
        job: dict[str, Any] = {
            "job_id": f"{subject.namespace}.{subject.name}",
            "attempt": attempt.number,
            "cluster": self.cluster or "default",
            "scheduler": subject.scheduler,
            "user": str(subject.labels.get(self.user_label, "")),
            "name": subject.name,
            "partition": subject.queue,
            "state": attempt.state,
            "reason": _reason(attempt, failed),
            "exit_code": str(failed.exit_code) if failed is not None and failed.exit_code is not None else "",
            "nodes": nodes,
            "start": _not_after(attempt.begun, attempt.end),
            "end": attempt.end,
            "labels": labels | dict(attempt.labels),
        }
        return ExecutionContext.of(
            {key: value for key, value in job.items() if value not in ("", [])},
            adapter=self.adapter,
            places=tuple(_places(attempt)),
            asked=self.asked,
            notes=tuple(self._notes(attempt, nodes)),
        )

    def _notes(self, attempt: Attempt, nodes: list[str]) -> Iterator[str]:
        if not nodes:
            why = (
                "its pods are gone and were not recorded" if self.recorded else "its pods are gone and no recorder ran"
            )
            yield f"placement unknown: {why} (attribution watch kueue)"
        if not attempt.pods:
            yield "logs unknown: its pods are gone; read them from where they are collected"


def _not_after(start: str, end: str) -> str:
    """The start, unless it is that of a later admission than what ended."""
    begun, over = moment(start, 0) if start else None, moment(end, 0) if end else None
    return "" if begun is not None and over is not None and begun > over else start


def _reason(attempt: Attempt, failed: PodFacts | None) -> str:
    """What the pod that failed first says, where the job only says that it failed."""
    if attempt.state == "Failed" and failed is not None and failed.reason not in ("", "Error"):
        return failed.reason
    return attempt.reason


def _places(attempt: Attempt) -> Iterator[EvidencePlace]:
    for pod in attempt.pods:
        for container in pod.containers:
            yield EvidencePlace(PlaceKind.POD, f"{pod.namespace}/{pod.name}", container, node=pod.node or None)
