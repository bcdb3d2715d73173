"""``kueue``: workloads of a Kubernetes cluster, by kubectl."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from pydantic import Field, model_validator

from attribution_blueprint.connectors.commands import run_command
from attribution_blueprint.connectors.eca.base import AdapterSettings
from attribution_blueprint.connectors.eca.kueue.objects import (
    PodFacts,
    conditions,
    ending,
    facts_of,
    restarts,
    workload_state,
)
from attribution_blueprint.connectors.eca.kueue.placements import read_placements
from attribution_blueprint.connectors.eca.slurm.selection import moment
from attribution_blueprint.connectors.kubectl import Kubectl, KubectlSettings
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import CollectError, DiscoveryError
from attribution_blueprint.setting_types import OptionalPath, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.commands import CommandRunner

__all__ = ["KueueAdapter", "KueueSettings"]

_log = logging.getLogger(__name__)
_KUEUE = "kueue.x-k8s.io"
_OWNERS = {"JobSet": ("jobset.x-k8s.io", "jobsets"), "Job": ("batch", "jobs")}
_POD_LABELS = {"JobSet": "jobset.sigs.k8s.io/jobset-name", "Job": "batch.kubernetes.io/job-name"}


class KueueSettings(AdapterSettings, KubectlSettings):
    """Workloads of Kueue by id, or those that ended since a while ago."""

    ids: Texts = Field(default=(), description="Jobs as namespace/name, or names; JobSets, Jobs or Workloads.")
    since: str = Field(default="", description="Workloads that ended since: 2h, 7d, or an RFC 3339 time.")
    failed_only: bool = Field(default=True, description="With since: leave out workloads that completed.")
    namespaces: Texts = Field(default=(), description="Only these namespaces; empty: all.")
    users: Texts = Field(default=(), description="Only workloads with these values of user_label.")
    user_label: str = Field(default="user", description="Label that says whose job it is.")
    queues: Texts = Field(default=(), description="Only these local queues.")
    placements: OptionalPath = Field(default="", description="File that `attribution watch kueue` writes.")

    @model_validator(mode="after")
    def _selected(self) -> KueueSettings:
        if bool(self.ids) == bool(self.since):
            msg = "ids, or since: exactly one of them"
            raise ValueError(msg)
        if self.since and moment(self.since, 0) is None:
            msg = f"since: {self.since[:60]!r}; expected 2h, 7d, or an RFC 3339 time with its offset"
            raise ValueError(msg)
        return self


class KueueAdapter:
    """The present attempt of each workload; earlier ones leave no object behind."""

    Settings: ClassVar[type[KueueSettings]] = KueueSettings

    def __init__(
        self,
        name: str,
        settings: KueueSettings,
        run: CommandRunner = run_command,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.settings = settings
        self._kubectl = Kubectl(settings, run)
        self._clock = clock

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """The workloads that were named, or that ended within the time; ``DiscoveryError`` with what kubectl said."""
        try:
            version = self._kubectl.version(_KUEUE, budget)
            if version is None:
                msg = f"eca {self.name}: the cluster has no {_KUEUE}; expected Kueue 0.6 or later"
                raise DiscoveryError(msg)
            placed = read_placements(Path(self.settings.placements)) if self.settings.placements else {}
            return list(self._contexts(version, placed, budget))
        except CollectError as error:
            msg = f"eca {self.name}: {error}"
            raise DiscoveryError(msg) from error

    def _contexts(
        self, version: str, placed: dict[tuple[str, str], list[PodFacts]], budget: Budget
    ) -> Iterator[ExecutionContext]:
        for namespace in self.settings.namespaces or ("",):
            where = f"namespaces/{quote(namespace, safe='')}/" if namespace else ""
            for workload in self._kubectl.items(f"/apis/{_KUEUE}/{version}/{where}workloads", budget):
                try:
                    if not self._named(workload):
                        continue
                    owner = self._owner(workload, budget)
                    if self._meant(workload, owner):
                        yield self._context(workload, owner, placed, budget)
                except (DiscoveryError, KeyError, TypeError, AttributeError) as error:
                    _log.warning("eca %s: a workload is left out: %s", self.name, error)

    def _named(self, workload: dict[str, Any]) -> bool:
        """What needs no further question: ids, queue and user."""
        chosen, meta = self.settings, workload["metadata"]
        kind_and_name = _owner_reference(workload)
        names = {meta["name"], kind_and_name[1] if kind_and_name else meta["name"]}
        spelt = names | {f"{meta['namespace']}/{name}" for name in names}
        if chosen.ids and not spelt & set(chosen.ids):
            return False
        if chosen.queues and workload.get("spec", {}).get("queueName") not in chosen.queues:
            return False
        return not chosen.users or self._user(workload) in chosen.users

    def _user(self, workload: dict[str, Any]) -> str:
        return str((workload["metadata"].get("labels") or {}).get(self.settings.user_label, ""))

    def _owner(self, workload: dict[str, Any], budget: Budget) -> dict[str, Any] | None:
        """The JobSet or Job behind a workload; None when it is of another kind, or gone."""
        found = _owner_reference(workload)
        if found is None or found[0] not in _OWNERS:
            return None
        group, plural = _OWNERS[found[0]]
        version = self._kubectl.version(group, budget)
        namespace = quote(workload["metadata"]["namespace"], safe="")
        path = f"/apis/{group}/{version}/namespaces/{namespace}/{plural}/{quote(found[1], safe='')}"
        owner = self._kubectl.get(path, budget) if version else None
        return owner if isinstance(owner, dict) else None

    def _meant(self, workload: dict[str, Any], owner: dict[str, Any] | None) -> bool:
        if self.settings.ids:
            return True
        state, _, end = workload_state(workload, owner)
        since, ended = moment(self.settings.since, self._clock()), moment(end, 0) if end else None
        if ended is None or since is None or ended < since:
            return False
        return not self.settings.failed_only or state != "Completed"

    def _context(
        self,
        workload: dict[str, Any],
        owner: dict[str, Any] | None,
        placed: dict[tuple[str, str], list[PodFacts]],
        budget: Budget,
    ) -> ExecutionContext:
        meta = workload["metadata"]
        kind, name = _owner_reference(workload) or ("Workload", meta["name"])
        pods = self._pods(kind, meta["namespace"], name, budget)
        again = (owner or {}).get("status", {}).get("restarts", 0)
        recorded = [pod for pod in placed.get((meta["namespace"], name), ()) if pod.attempt == again]
        present = [pod for pod in pods if pod.attempt == again]
        job = self._job(workload, owner, (kind, name), present, recorded)
        return ExecutionContext.of(
            job,
            adapter=self.name,
            places=tuple(_places(present)),
            asked=bool(self.settings.ids),
            notes=_notes(job.get("nodes"), present, recorded=bool(self.settings.placements)),
        )

    def _job(
        self,
        workload: dict[str, Any],
        owner: dict[str, Any] | None,
        named: tuple[str, str],
        present: Sequence[PodFacts],
        recorded: Sequence[PodFacts],
    ) -> dict[str, Any]:
        """The job object: what the workload, its owner and the pods of this attempt say."""
        meta, (kind, name) = workload["metadata"], named
        state, reason, end = workload_state(workload, owner)
        failed = ending(present)
        nodes = sorted({pod.node for pod in (*present, *recorded) if pod.node})
        admitted = conditions(workload).get("Admitted")
        start = min((pod.start for pod in (*present, *recorded) if pod.start), default="")
        job: dict[str, Any] = {
            "job_id": f"{meta['namespace']}.{name}",
            "attempt": restarts(workload, owner),
            "cluster": self.settings.cluster or "default",
            "scheduler": "kueue",
            "user": self._user(workload),
            "name": name,
            "partition": str(workload.get("spec", {}).get("queueName", "")),
            "state": state,
            "reason": _reason(state, reason, failed),
            "exit_code": str(failed.exit_code) if failed is not None and failed.exit_code is not None else "",
            "nodes": nodes,
            "start": _before(end, start or (admitted.time if admitted is not None else "")),
            "end": end,
            "labels": {"kind": kind, "namespace": meta["namespace"], "workload": meta["name"]},
        }
        return {key: value for key, value in job.items() if value not in ("", [])}

    def _pods(self, kind: str, namespace: str, name: str, budget: Budget) -> list[PodFacts]:
        label = _POD_LABELS.get(kind)
        if label is None:
            return []
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"
        found = self._kubectl.items(path, budget, {"labelSelector": f"{label}={name}"})
        return [facts for pod in found if (facts := facts_of(pod)) is not None]


def _owner_reference(workload: dict[str, Any]) -> tuple[str, str] | None:
    for reference in workload["metadata"].get("ownerReferences") or ():
        if reference.get("controller", True):
            return str(reference.get("kind")), str(reference.get("name"))
    return None


def _before(end: str, start: str) -> str:
    """The start, unless it is that of a later admission than what ended."""
    begun, over = moment(start, 0), moment(end, 0)
    return "" if begun is not None and over is not None and begun > over else start


def _reason(state: str, reason: str, failed: PodFacts | None) -> str:
    """What the pod that failed first says, where the job only says that it failed."""
    if state == "Failed" and failed is not None and failed.reason not in ("", "Error"):
        return failed.reason
    return reason


def _places(pods: Sequence[PodFacts]) -> Iterator[EvidencePlace]:
    for pod in pods:
        for container in pod.containers:
            yield EvidencePlace(PlaceKind.POD, f"{pod.namespace}/{pod.name}", container, node=pod.node or None)


def _notes(nodes: object, present: list[PodFacts], *, recorded: bool) -> tuple[str, ...]:
    notes = []
    if not nodes:
        why = "its pods are gone and were not recorded" if recorded else "its pods are gone and no recorder ran"
        notes.append(f"placement unknown: {why} (attribution watch kueue)")
    if not present:
        notes.append("logs unknown: its pods are gone; read them from where they are collected")
    return tuple(notes)
