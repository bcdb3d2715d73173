"""The attempts of a job that the API still knows of: the present one, and what is told of earlier ones.

Attempts are numbered by the API's counters, so that a number stays when older objects are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.eca.kueue.objects import PodFacts, conditions, ending, field, rows, workload_state
from attribution_blueprint.connectors.eca.slurm.selection import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Attempt", "has_earlier", "kueue_attempts", "numbered", "of_restarts"]

_PREEMPTED = "Preempted"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a job."""

    state: str
    reason: str
    start: str = ""
    """RFC 3339, like ``end``; empty where nothing says it."""
    end: str = ""
    pods: tuple[PodFacts, ...] = ()
    """Those that are still there: their logs can be read."""
    recorded: tuple[PodFacts, ...] = ()
    """Those that a recorder saw."""
    number: int = 0
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def begun(self) -> str:
        """Its start, or that of its first pod."""
        return self.start or min((pod.start for pod in (*self.pods, *self.recorded) if pod.start), default="")


def has_earlier(workload: Mapping[str, Any], owner: Mapping[str, Any] | None) -> bool:
    """Whether there were attempts before the present one."""
    return bool(_evictions(workload) or _restarts(owner) or _retries(owner))


def kueue_attempts(
    workload: Mapping[str, Any],
    owner: Mapping[str, Any] | None,
    pods: Sequence[PodFacts],
    recorded: Sequence[PodFacts],
) -> list[Attempt]:
    """The attempts of a workload that are known, the present one last."""
    state, reason, end = workload_state(workload, owner)
    again, evictions, retries = _restarts(owner), _evictions(workload), _retries(owner)
    admitted = conditions(workload).get("Admitted")
    since = admitted.time if admitted is not None and evictions else ""
    mine = [pod for pod in pods if pod.attempt == again and not _before(pod.start, since)]
    seen = [pod for pod in recorded if pod.attempt == again and not _before(pod.start, since)]
    earlier = of_restarts(again, pods, recorded)
    if retries:
        tried = sorted((pod for pod in mine if pod.failed), key=lambda pod: (pod.start, pod.name))
        earlier += [_failed_pod(pod) for pod in (tried[:-1] if state == "Failed" else tried)]
        over = {pod.name for attempt in earlier for pod in attempt.pods}
        mine = [pod for pod in mine if pod.name not in over]
    over_now = "Evicted" in conditions(workload) and state in (_PREEMPTED, "Evicted")
    evicted = None if over_now else _last_eviction(workload, evictions)
    if evicted is not None:
        earlier.append(_with_pods(evicted, again, pods, recorded, since))
    start = admitted.time if admitted is not None else ""
    present = Attempt(state, reason, "", end, tuple(mine), tuple(seen))
    present = present if present.begun else replace(present, start=start)
    number = again + evictions + retries - (retries > 0 and state == "Failed") - over_now
    return numbered(earlier, present, number)


def numbered(earlier: Iterable[Attempt], present: Attempt, number: int) -> list[Attempt]:
    """Earlier attempts by their end, counted back from the number of the present one."""
    found = sorted(earlier, key=lambda one: moment(one.end or one.begun, 0) or 0)
    known = found[len(found) - min(len(found), max(0, number)) :]
    counted = [replace(one, number=number - len(known) + at) for at, one in enumerate(known)]
    return [*counted, replace(present, number=max(0, number))]


def of_restarts(again: int, pods: Iterable[PodFacts], recorded: Iterable[PodFacts]) -> list[Attempt]:
    """Attempts before the last restart of a JobSet of which pods are there or were recorded."""
    by_number: dict[int, tuple[list[PodFacts], list[PodFacts]]] = {}
    for at, group in enumerate((pods, recorded)):
        for pod in group:
            if pod.attempt <= again:
                by_number.setdefault(pod.attempt, ([], []))[at].append(pod)
    begun = {
        number: min((pod.start for group in both for pod in group if pod.start), default="")
        for number, both in by_number.items()
    }
    found = []
    for number, (there, seen) in sorted(by_number.items()):
        if number < again:
            failed = ending((*there, *seen))
            # It was over when the next one began, at the latest.
            end = (failed.end if failed is not None else "") or begun.get(number + 1, "")
            found.append(Attempt("Failed", "", begun[number], end, tuple(there), tuple(seen)))
    return found


def _failed_pod(pod: PodFacts) -> Attempt:
    """A pod that a Job replaced by another: with one pod at a time, each is an attempt."""
    return Attempt("Failed", pod.reason, pod.start, pod.end, (pod,))


def _evictions(workload: Mapping[str, Any]) -> int:
    """How often it was evicted: by Kueue's statistics (0.14), its count of requeues, or a trace in its conditions."""
    counts = [row.get("count", 0) for row in _statistics(workload)]
    requeued = field(workload, "status", "requeueState", "count")
    known = {**conditions(workload, status="False"), **conditions(workload)}
    return max(
        sum(count for count in counts if isinstance(count, int)),
        requeued if isinstance(requeued, int) else 0,
        int("Evicted" in known),
    )


def _statistics(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    return rows(workload, "status", "schedulingStats", "evictions")


def _restarts(owner: Mapping[str, Any] | None) -> int:
    again = field(owner, "status", "restarts")
    return again if isinstance(again, int) and again > 0 else 0


def _retries(owner: Mapping[str, Any] | None) -> int:
    """Failed pods of a Job that runs one at a time; where several run, one that fails ends no attempt."""
    alone = all(field(owner, "spec", name) in (None, 1) for name in ("parallelism", "completions"))
    failed = field(owner, "status", "failed")
    return failed if field(owner, "kind") == "Job" and alone and isinstance(failed, int) and failed > 0 else 0


def _last_eviction(workload: Mapping[str, Any], evictions: int) -> Attempt | None:
    """The attempt that the last eviction ended, of a workload that was admitted again.

    Kueue then keeps ``Evicted`` as false with ``Previously: …`` as its message, and when it was requeued.
    """
    over = conditions(workload, status="False").get("Evicted")
    if over is None:
        return None
    requeued = {**conditions(workload, status="False"), **conditions(workload)}.get("Requeued")
    reasons = {str(row.get("reason")) for row in _statistics(workload)}
    reason = next(iter(reasons)) if len(reasons) == 1 else ""
    if not reason and "preempted to" in over.message.casefold():
        reason = _PREEMPTED
    # The time of a condition that was true already does not change with the next eviction.
    end = requeued.time if requeued is not None and evictions == 1 else over.time
    return Attempt(_PREEMPTED if reason == _PREEMPTED else "Evicted", reason, "", end)


def _with_pods(
    evicted: Attempt, again: int, pods: Iterable[PodFacts], recorded: Iterable[PodFacts], since: str
) -> Attempt:
    """With the pods that began before the workload was admitted again."""
    mine = tuple(pod for pod in pods if pod.attempt == again and _before(pod.start, since))
    seen = tuple(pod for pod in recorded if pod.attempt == again and _before(pod.start, since))
    return replace(evicted, pods=mine, recorded=seen)


def _before(text: str, other: str) -> bool:
    """Whether one time is before another; False where either is not known."""
    one, two = moment(text, 0) if text else None, moment(other, 0) if other else None
    return one is not None and two is not None and one < two
