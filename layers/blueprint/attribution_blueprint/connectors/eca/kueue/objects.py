"""Workloads, JobSets, Jobs and Pods as the Kubernetes API shows them, read without asking anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "Condition",
    "PodFacts",
    "conditions",
    "ending",
    "facts_of",
    "field",
    "mapping",
    "own_state",
    "rows",
    "workload_state",
]

ATTEMPT_LABEL = "jobset.sigs.k8s.io/restart-attempt"
_ENDINGS = ("Failed", "FailureTarget", "Completed", "Complete", "Succeeded")
"""Conditions of JobSets, Jobs and Kubeflow's jobs that end them; what failed first says more than what follows."""
_GROUP_ANNOTATION = "pod-group-name"
_PREEMPTIONS = frozenset({"Preempted"})


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that holds."""

    name: str
    reason: str
    message: str
    time: str
    """RFC 3339: when it came to hold."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What a pod says of its placement and of how it ended."""

    namespace: str
    name: str
    uid: str
    node: str
    attempt: int
    """The JobSet's count of restarts when it was made; 0 without a JobSet."""
    containers: tuple[str, ...]
    start: str = ""
    end: str = ""
    reason: str = ""
    """``OOMKilled``, ``Evicted``, ``NodeLost`` …: the pod's own, or that of its first container that failed."""
    exit_code: int | None = None
    """Of the first container that failed."""
    group: str = ""
    """The PodGroup of KAI that it belongs to."""

    @property
    def failed(self) -> bool:
        """Whether it ended, and not well."""
        return self.exit_code not in (None, 0) or self.reason not in ("", "Completed")


def conditions(obj: Mapping[str, Any] | None, *, status: str = "True") -> dict[str, Condition]:
    """The conditions of an object that are true (or, as asked, not), by name."""
    return {
        str(row.get("type")): Condition(
            str(row.get("type")),
            str(row.get("reason") or ""),
            str(row.get("message") or ""),
            str(row.get("lastTransitionTime") or ""),
        )
        for row in rows(obj, "status", "conditions")
        if row.get("status") == status
    }


def own_state(owner: Mapping[str, Any] | None) -> tuple[str, str, str] | None:
    """State, reason and end by the conditions of the JobSet or Job itself; None while it has none that ends it."""
    own = conditions(owner)
    for name in _ENDINGS:
        if name in own:
            found = own[name]
            return ("Failed" if name.startswith("Fail") else "Completed"), found.reason, found.time
    return None


def workload_state(workload: Mapping[str, Any], owner: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """State, reason and the time at which it ended (empty while it runs): Job or JobSet first, then the workload.

    An eviction ends an attempt, even though the job may run again.
    """
    ended = own_state(owner)
    if ended is not None:
        return ended
    kueue = conditions(workload)
    if "Evicted" in kueue:
        found = kueue["Evicted"]
        state = "Preempted" if found.reason in _PREEMPTIONS else "Evicted"
        preempted = kueue.get("Preempted")
        reason = preempted.reason if state == "Preempted" and preempted is not None else found.reason
        return state, reason, found.time
    if "Finished" in kueue:
        found = kueue["Finished"]
        # Kueue before 0.7 says JobFinished of both, and how only in the message.
        failed = found.reason == "Failed" or (found.reason != "Succeeded" and "fail" in found.message.casefold())
        return ("Failed" if failed else "Completed"), found.reason, found.time
    return ("Running" if "Admitted" in kueue else "Pending"), "", ""


def ending(pods: Iterable[PodFacts]) -> PodFacts | None:
    """The pod that failed first; None when none did."""
    return min((pod for pod in pods if pod.failed), key=lambda pod: (pod.end or "9", pod.name), default=None)


def facts_of(pod: Mapping[str, Any]) -> PodFacts | None:
    """What is of use of a pod; None when it is no pod."""
    meta, status = field(pod, "metadata"), mapping(pod, "status")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        return None
    ended = sorted(_terminated(status), key=lambda state: str(state.get("finishedAt") or "9"))
    failed = next((state for state in ended if state.get("exitCode")), None)
    disrupted = conditions(pod).get("DisruptionTarget")
    reason = str(status.get("reason") or "") or (str(failed.get("reason") or "") if failed else "")
    if disrupted is not None and reason in ("", "Error"):
        reason = disrupted.reason
    attempt = str(mapping(meta, "labels").get(ATTEMPT_LABEL, "0"))
    names = [str(part.get("name")) for part in rows(pod, "spec", "containers")]
    code = failed.get("exitCode") if failed else None
    return PodFacts(
        namespace=str(meta.get("namespace") or "default"),
        name=meta["name"],
        uid=str(meta.get("uid") or ""),
        node=str(field(pod, "spec", "nodeName") or ""),
        attempt=int(attempt) if attempt.isdecimal() else 0,
        containers=tuple(names),
        start=str(status.get("startTime") or ""),
        end=str((failed or (ended[-1] if ended else {})).get("finishedAt") or ""),
        reason=reason,
        exit_code=code if isinstance(code, int) else None,
        group=str(mapping(meta, "annotations").get(_GROUP_ANNOTATION, "")),
    )


def _terminated(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for row in rows(status, "containerStatuses"):
        for when in ("lastState", "state"):
            found = field(row, when, "terminated")
            if isinstance(found, dict):
                yield found


def field(value: Any, *names: str) -> Any:
    """What stands at a path of an object; None where there is nothing, or no object on the way."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping(value: Any, *names: str) -> Mapping[str, Any]:
    """The object at a path; an empty one where there is none."""
    found = field(value, *names)
    return found if isinstance(found, dict) else {}


def rows(value: Any, *names: str) -> list[dict[str, Any]]:
    """The objects of the list at a path; none where there is no list."""
    found = field(value, *names)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
