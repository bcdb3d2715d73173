"""Objects of a cluster with Kueue and JobSet in the form of their API documents, and a server that replays them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from replay_kit import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replay_kit import Asked

__all__ = ["Cluster", "condition", "evict_event", "job", "job_set", "over", "pod", "pod_group", "workload"]


def condition(name: str, reason: str = "", message: str = "", time: str = "2026-11-29T18:09:00Z") -> dict[str, str]:
    return {"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time}


ADMITTED = condition("Admitted", "Admitted", time="2026-11-29T18:00:00Z")


def workload(name: str, kind: str, *conditions: Mapping[str, str], **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": f"{kind.lower()}-{name}-1a2b3",
            "namespace": "team-a",
            "labels": {"user": "ada"},
            "ownerReferences": [{"kind": kind, "name": name, "controller": True}],
        },
        "spec": {"queueName": "gpu-queue"},
        "status": {
            "conditions": [condition("Admitted", "Admitted", time="2026-11-29T18:00:00Z"), *conditions],
            **status,
        },
    }


def over(name: str, reason: str = "", message: str = "", time: str = "2026-11-29T18:05:00Z") -> dict[str, str]:
    """A condition that does not hold any more."""
    return condition(name, reason, message, time) | {"status": "False"}


def job(name: str, *conditions: Mapping[str, str], failed: int = 0, parallelism: int = 1) -> dict[str, Any]:
    meta = {"name": name, "namespace": "team-a"}
    spec = {"parallelism": parallelism, "completions": parallelism}
    return {"kind": "Job", "metadata": meta, "spec": spec, "status": {"conditions": list(conditions), "failed": failed}}


def pod_group(
    name: str, kind: str = "JobSet", *, notes: Mapping[str, str] | None = None, **status: Any
) -> dict[str, Any]:
    """A PodGroup as KAI's podgrouper makes it; ``notes``: last-start, last-eviction."""
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}-0f3c",
            "namespace": "team-a",
            "labels": {"user": "ada", "kai.scheduler/queue": "research"},
            "annotations": {f"kai.scheduler/{key}-timestamp": value for key, value in (notes or {}).items()},
            "ownerReferences": [{"kind": kind, "name": name, "controller": True}],
        },
        "spec": {"queue": "research", "minMember": 2, "priorityClassName": "train"},
        "status": status,
    }


def evict_event(name: str, message: str, time: str, action: str = "", evictor: str = "") -> dict[str, Any]:
    """What KAI's status updater records on a PodGroup."""
    notes = {"evictor-action-type": action, "num-evicted-pods": "2"} if action else {}
    if evictor:
        space, _, by = evictor.partition("/")
        notes |= {"evictor-pod-group-namespace": space, "evictor-pod-group-name": by}
    return {
        "kind": "Event",
        "metadata": {"name": f"{name}.17f", "namespace": "team-a", "annotations": notes},
        "involvedObject": {"kind": "PodGroup", "name": f"pg-{name}-0f3c", "namespace": "team-a"},
        "reason": "Evict",
        "message": message,
        "lastTimestamp": time,
    }


def job_set(name: str, *conditions: Mapping[str, str], restarts: int = 0) -> dict[str, Any]:
    meta = {"name": name, "namespace": "team-a"}
    return {"kind": "JobSet", "metadata": meta, "status": {"conditions": list(conditions), "restarts": restarts}}


def pod(  # noqa: PLR0913 -- what a pod has
    name: str,
    owner: str,
    node: str,
    *,
    attempt: int = 0,
    ended: tuple[int, str] | None = None,
    times: tuple[str, str] = ("18:00:05", "18:08:50"),
    group: str = "",
) -> dict[str, Any]:
    """``ended``: exit code and reason of its container; ``times``: when it began and ended."""
    code, why = ended or (None, "")
    begun, finished = (f"2026-11-29T{time}Z" for time in times)
    over = {"exitCode": code, "reason": why, "finishedAt": finished}
    state = {"running": {}} if code is None else {"terminated": over}
    labels = {"jobset.sigs.k8s.io/jobset-name": owner, "jobset.sigs.k8s.io/restart-attempt": str(attempt)}
    labels |= {"job-name": f"{owner}-workers-0", "batch.kubernetes.io/job-name": f"{owner}-workers-0"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "team-a", "uid": f"uid-{name}", "labels": labels}
        | ({"annotations": {"pod-group-name": f"pg-{group}-0f3c"}} if group else {}),
        "spec": {"nodeName": node, "containers": [{"name": "train"}]},
        "status": {"startTime": begun, "containerStatuses": [{"name": "train", "state": state}]},
    }


class Cluster:
    """Answers the paths of the API, to a runner in place of kubectl or over HTTP to kubectl itself."""

    def __init__(
        self,
        *objects: dict[str, Any],
        logs: Mapping[str, str] | None = None,
        page: int = 500,
        schedulers: tuple[str, ...] = ("kueue", "kai"),
    ) -> None:
        self.schedulers = schedulers
        self.objects = list(objects)
        self.logs = dict(logs or {})
        self.page = page

    def over_http(self) -> Callable[[Asked, int], Answer]:
        def answer(asked: Asked, _: int) -> Answer:
            found = self.look_up(asked.path, asked.query)
            headers = {"Content-Type": "application/json"}
            if found is None:
                status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
                message = "the server could not find the requested resource"
                return Answer(json.dumps(status | {"message": message}).encode(), 404, headers)
            if isinstance(found, str):
                return Answer(found.encode(), 200, {"Content-Type": "text/plain"})
            return Answer(json.dumps(found).encode(), 200, headers)

        return answer

    def get(self, raw: str) -> Any:
        parts = urlsplit(raw)
        return self.look_up(parts.path, {name: values[-1] for name, values in parse_qs(parts.query).items()})

    def look_up(self, path: str, query: Mapping[str, str]) -> Any:
        words = path.strip("/").split("/")
        if words[0] == "apis" and len(words) == 2:
            known = {"jobset.x-k8s.io": "v1alpha2", "batch": "v1", "kubeflow.org": "v1"}
            known |= {"kueue.x-k8s.io": "v1beta1"} if "kueue" in self.schedulers else {}
            known |= {"scheduling.run.ai": "v2alpha2"} if "kai" in self.schedulers else {}
            return {"preferredVersion": {"version": known[words[1]]}} if words[1] in known else None
        if words[-1] == "log":
            return self.logs.get(words[-2] + ("/previous" if query.get("previous") == "true" else ""))
        kinds = {"workloads": "Workload", "jobsets": "JobSet", "jobs": "Job", "pods": "Pod"}
        kinds |= {"podgroups": "PodGroup", "events": "Event", "pytorchjobs": "PyTorchJob"}
        if words[-1] in kinds:
            if query.get("watch"):
                return "".join(json.dumps({"type": "ADDED", "object": one}) + "\n" for one in self._of("Pod", query))
            return self._list(self._of(kinds[words[-1]], query), query)
        if len(words) > 1 and words[-2] in kinds:
            return next((one for one in self._of(kinds[words[-2]], {}) if one["metadata"]["name"] == words[-1]), None)
        return None

    def _of(self, kind: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        label, _, value = query.get("labelSelector", "").partition("=")
        found = [one for one in self.objects if one["kind"] == kind]
        fields = dict(part.split("=") for part in query.get("fieldSelector", "").split(",") if part)
        if name := fields.get("involvedObject.name"):
            found = [one for one in found if one["involvedObject"]["name"] == name]
        return [one for one in found if not value or one["metadata"].get("labels", {}).get(label) == value]

    def _list(self, found: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
        at = int(query.get("continue", "0"))
        meta = {"resourceVersion": "7"}
        if at + self.page < len(found):
            meta["continue"] = str(at + self.page)
        return {"items": found[at : at + self.page], "metadata": meta}
