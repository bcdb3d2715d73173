"""``kueue``: workloads of Kueue and PodGroups of KAI in a Kubernetes cluster, by kubectl."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from pydantic import Field, model_validator

from attribution_blueprint.connectors.commands import run_command
from attribution_blueprint.connectors.eca.base import AdapterSettings
from attribution_blueprint.connectors.eca.kueue.attempts import has_earlier, kueue_attempts
from attribution_blueprint.connectors.eca.kueue.contexts import ContextMaker, Subject, owner_reference
from attribution_blueprint.connectors.eca.kueue.kai import eviction_of, kai_attempts, kai_ended
from attribution_blueprint.connectors.eca.kueue.objects import PodFacts, facts_of, field, workload_state
from attribution_blueprint.connectors.eca.kueue.placements import read_placements
from attribution_blueprint.connectors.eca.slurm.selection import moment
from attribution_blueprint.connectors.kubectl import Kubectl, KubectlSettings
from attribution_blueprint.errors import CollectError, DiscoveryError
from attribution_blueprint.setting_types import OptionalPath, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.commands import CommandRunner
    from attribution_blueprint.connectors.eca.kueue.attempts import Attempt
    from attribution_blueprint.context import ExecutionContext

__all__ = ["KueueAdapter", "KueueSettings"]

_log = logging.getLogger(__name__)
_KUEUE = "kueue.x-k8s.io"
_KAI = "scheduling.run.ai"
_OWNERS = {
    "JobSet": ("jobset.x-k8s.io", "jobsets"),
    "Job": ("batch", "jobs"),
    "PyTorchJob": ("kubeflow.org", "pytorchjobs"),
    "MPIJob": ("kubeflow.org", "mpijobs"),
}
_POD_LABELS = {
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "Job": "batch.kubernetes.io/job-name",
    "PyTorchJob": "training.kubeflow.org/job-name",
    "MPIJob": "training.kubeflow.org/job-name",
}
_KAI_QUEUE = "kai.scheduler/queue"


class KueueSettings(AdapterSettings, KubectlSettings):
    """Workloads of Kueue and PodGroups of KAI by id, or those that ended since a while ago."""

    ids: Texts = Field(
        default=(), description="Jobs as namespace/name, or names; JobSets, Jobs, Workloads or PodGroups."
    )
    since: str = Field(default="", description="Workloads that ended since: 2h, 7d, or an RFC 3339 time.")
    failed_only: bool = Field(default=True, description="With since: leave out workloads that completed.")
    namespaces: Texts = Field(default=(), description="Only these namespaces; empty: all.")
    users: Texts = Field(default=(), description="Only workloads with these values of user_label.")
    user_label: str = Field(default="user", description="Label that says whose job it is.")
    queues: Texts = Field(default=(), description="Only these local queues of Kueue, or queues of KAI.")
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


@dataclass(slots=True)
class _Search:
    """What one discovery has found so far."""

    placed: Mapping[tuple[str, str], list[PodFacts]]
    budget: Budget
    found: dict[tuple[str, str, str], list[ExecutionContext]] = dataclass_field(default_factory=dict)


class KueueAdapter:
    """Each attempt of each job that the API still knows of; a job of both schedulers is Kueue's."""

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
        recorded = bool(settings.placements)
        self._maker = ContextMaker(name, settings.cluster, settings.user_label, recorded, bool(settings.ids))

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """The jobs that were named, or that ended within the time; ``DiscoveryError`` with what kubectl said."""
        try:
            kueue, kai = self._kubectl.version(_KUEUE, budget), self._kubectl.version(_KAI, budget)
            if kueue is None and kai is None:
                msg = f"eca {self.name}: the cluster has no {_KUEUE} and no {_KAI}; expected Kueue 0.6 or later, or KAI"
                raise DiscoveryError(msg)
            placed = read_placements(Path(self.settings.placements)) if self.settings.placements else {}
            search = _Search(placed, budget)
            if kueue is not None:
                self._look(f"/apis/{_KUEUE}/{kueue}", "workloads", search)
            if kai is not None:
                self._look(f"/apis/{_KAI}/{kai}", "podgroups", search)
        except CollectError as error:
            msg = f"eca {self.name}: {error}"
            raise DiscoveryError(msg) from error
        return [context for contexts in search.found.values() for context in contexts]

    def _look(self, path: str, plural: str, search: _Search) -> None:
        """Add the contexts of every object of one kind; what cannot be read costs only itself."""
        for namespace in self.settings.namespaces or ("",):
            where = f"namespaces/{quote(namespace, safe='')}/" if namespace else ""
            for obj in self._kubectl.items(f"{path}/{where}{plural}", search.budget):
                try:
                    subject = _subject(obj, kai=plural == "podgroups")
                    if subject.key in search.found or not self._named(subject):
                        continue
                    attempts = self._pod_group if subject.scheduler == "kai" else self._workload
                    recorded = search.placed.get((subject.namespace, subject.name), ())
                    known = attempts(obj, subject, recorded, search.budget)
                    search.found[subject.key] = [self._maker.context(subject, one) for one in known if self._meant(one)]
                except (DiscoveryError, KeyError, TypeError, AttributeError) as error:
                    _log.warning("eca %s: one of %s is left out: %s", self.name, plural, error)

    def _named(self, subject: Subject) -> bool:
        """What needs no further question: ids, queue and user."""
        chosen = self.settings
        if chosen.ids and not subject.spellings & set(chosen.ids):
            return False
        if chosen.queues and subject.queue not in chosen.queues:
            return False
        return not chosen.users or subject.labels.get(chosen.user_label) in chosen.users

    def _meant(self, attempt: Attempt) -> bool:
        """Whether an attempt ended within the time; named jobs are meant whatever became of them."""
        if self.settings.ids:
            return True
        return self._ended(attempt.state, attempt.end)

    def _ended(self, state: str, end: str) -> bool:
        since, ended = moment(self.settings.since, self._clock()), moment(end, 0) if end else None
        if ended is None or since is None or ended < since:
            return False
        return not self.settings.failed_only or state != "Completed"

    def _workload(
        self, workload: dict[str, Any], subject: Subject, recorded: Sequence[PodFacts], budget: Budget
    ) -> Sequence[Attempt]:
        owner = self._owner(subject, budget)
        state, _, end = workload_state(workload, owner)
        if not (self.settings.ids or self._ended(state, end) or has_earlier(workload, owner)):
            return ()  # its pods are not asked for
        return kueue_attempts(workload, owner, self._pods(subject, budget), recorded)

    def _pod_group(
        self, group: dict[str, Any], subject: Subject, recorded: Sequence[PodFacts], budget: Budget
    ) -> Sequence[Attempt]:
        owner = self._owner(subject, budget)
        over = kai_ended(group, owner)
        if over is not None and not self.settings.ids and not self._ended(over[0], over[2]):
            return ()
        pods = [pod for pod in self._pods(subject, budget) if pod.group in ("", subject.queued_as)]
        selector = f"involvedObject.kind=PodGroup,involvedObject.name={subject.queued_as},reason=Evict"
        path = f"/api/v1/namespaces/{quote(subject.namespace, safe='')}/events"
        events = self._kubectl.items(path, budget, {"fieldSelector": selector})
        evictions = [found for event in events if (found := eviction_of(event)) is not None]
        return kai_attempts(group, owner, pods, recorded, evictions)

    def _owner(self, subject: Subject, budget: Budget) -> dict[str, Any] | None:
        """The JobSet or Job behind a job; None when it is of another kind, or gone."""
        if subject.kind not in _OWNERS:
            return None
        group, plural = _OWNERS[subject.kind]
        version = self._kubectl.version(group, budget)
        namespace = quote(subject.namespace, safe="")
        path = f"/apis/{group}/{version}/namespaces/{namespace}/{plural}/{quote(subject.name, safe='')}"
        owner = self._kubectl.get(path, budget) if version else None
        return owner if isinstance(owner, dict) else None

    def _pods(self, subject: Subject, budget: Budget) -> list[PodFacts]:
        """Its pods; those of a PodGroup of another kind are told by their annotation."""
        label = _POD_LABELS.get(subject.kind)
        if label is None and subject.scheduler != "kai":
            return []
        path = f"/api/v1/namespaces/{quote(subject.namespace, safe='')}/pods"
        found = self._kubectl.items(path, budget, {"labelSelector": f"{label}={subject.name}"} if label else None)
        facts = [one for pod in found if (one := facts_of(pod)) is not None]
        return facts if label else [one for one in facts if one.group == subject.queued_as]


def _subject(obj: dict[str, Any], *, kai: bool) -> Subject:
    meta = obj["metadata"]
    kind, name = owner_reference(obj) or ("PodGroup" if kai else "Workload", meta["name"])
    labels = meta.get("labels") or {}
    queue = field(obj, "spec", "queue" if kai else "queueName") or (labels.get(_KAI_QUEUE) if kai else "")
    return Subject(
        "kai" if kai else "kueue", meta["namespace"], kind, name, str(meta["name"]), str(queue or ""), labels
    )
