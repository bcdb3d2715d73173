"""PodGroups of the KAI scheduler (scheduling.run.ai): what they, the events on them and their pods tell of a job.

KAI deletes the pods that it evicts and counts no evictions. What stays: times of the last start and the last eviction
as annotations of the PodGroup, and for as long as the cluster keeps events (an hour by default) an ``Evict`` event that
says by which action and for whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.eca.kueue.attempts import Attempt, numbered, of_restarts
from attribution_blueprint.connectors.eca.kueue.objects import PodFacts, ending, field, mapping, own_state, rows
from attribution_blueprint.connectors.eca.slurm.selection import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Eviction", "eviction_of", "kai_attempts", "kai_ended"]

_LAST_START = "kai.scheduler/last-start-timestamp"
_LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
_STALE_GANG = "StaleGangEviction"
_REASONS = {
    "preempt": "Preempted",
    "reclaim": "Reclaimed",
    "consolidation": "Consolidated",
    "stalegangeviction": _STALE_GANG,
}
_SPELT = (
    ("preempted by higher priority workload", "Preempted"),
    ("bin packing", "Consolidated"),
    ("was preempted by workload", "Reclaimed"),
    ("minimum required number of pods", _STALE_GANG),
)
"""KAI's messages, for events without annotations."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """An eviction that an event tells of."""

    time: str
    reason: str
    """``Preempted`` (by a higher priority), ``Reclaimed`` (its queue was over its share), ``Consolidated``,
    ``StaleGangEviction`` (too few of its pods were left)."""
    evictor: str = ""
    """namespace/name of the PodGroup that it made room for."""


def eviction_of(event: Mapping[str, Any]) -> Eviction | None:
    """The eviction of an ``Evict`` event; None for other events."""
    if event.get("reason") != "Evict":
        return None
    notes = mapping(event, "metadata", "annotations")
    message = str(event.get("message") or "")
    reason = _REASONS.get(str(notes.get("evictor-action-type", "")).casefold()) or next(
        (name for words, name in _SPELT if words in message), "Evicted"
    )
    by = [str(notes.get(f"evictor-pod-group-{part}") or "") for part in ("namespace", "name")]
    time = event.get("lastTimestamp") or event.get("eventTime") or field(event, "metadata", "creationTimestamp")
    return Eviction(str(time or ""), reason, "/".join(by) if all(by) else "")


def kai_ended(group: Mapping[str, Any], owner: Mapping[str, Any] | None) -> tuple[str, str, str] | None:
    """State, reason and end, as far as they are known without its pods; None when its pods decide."""
    ended = own_state(owner)
    if ended is not None:
        return ended
    evicted, started = _noted(group, _LAST_EVICTION), _noted(group, _LAST_START)
    if evicted and not _later(started, evicted):
        return "Evicted", "", evicted
    return None


def kai_attempts(
    group: Mapping[str, Any],
    owner: Mapping[str, Any] | None,
    pods: Sequence[PodFacts],
    recorded: Sequence[PodFacts],
    evictions: Iterable[Eviction],
) -> list[Attempt]:
    """The attempts of a PodGroup that are known, the present one last."""
    restarts = field(owner, "status", "restarts")
    again = restarts if isinstance(restarts, int) and restarts > 0 else 0
    started = _noted(group, _LAST_START)
    known = sorted(evictions, key=lambda one: moment(one.time, 0) or 0)
    last = known[-1] if known else None
    evicted_at = _noted(group, _LAST_EVICTION) or (last.time if last is not None else "")
    over_now = bool(evicted_at) and own_state(owner) is None and not _later(_newest(started, pods), evicted_at)
    since = "" if over_now else evicted_at
    mine = tuple(pod for pod in pods if pod.attempt == again and not _later(since, pod.start))
    seen = tuple(pod for pod in recorded if pod.attempt == again and not _later(since, pod.start))
    earlier = of_restarts(again, pods, recorded)
    if over_now:
        present = _evicted(last, evicted_at, mine, seen)
    else:
        state, reason, end = own_state(owner) or _by_pods(group, mine)
        present = Attempt(state, reason, "" if mine or seen else started, end, mine, seen)
        if evicted_at:
            before = tuple(pod for pod in recorded if pod.attempt == again and _later(evicted_at, pod.start))
            earlier.append(_evicted(last, evicted_at, (), before))
    return numbered(earlier, present, again + bool(evicted_at) - over_now)


def _evicted(last: Eviction | None, end: str, pods: tuple[PodFacts, ...], recorded: tuple[PodFacts, ...]) -> Attempt:
    """An attempt that an eviction ended; a gang with too few pods left failed by itself."""
    reason = last.reason if last is not None else ""
    labels = (("evictor", last.evictor),) if last is not None and last.evictor else ()
    state = "Failed" if reason == _STALE_GANG else "Evicted"
    return Attempt(state, reason, "", end, pods, recorded, labels=labels)


def _by_pods(group: Mapping[str, Any], pods: Sequence[PodFacts]) -> tuple[str, str, str]:
    """State, reason and end by the pods, where the owner has no conditions of its own."""
    failed = ending(pods)
    if failed is not None:
        return "Failed", failed.reason, failed.end
    if pods and all(pod.end for pod in pods):
        return "Completed", "", max(pod.end for pod in pods)
    if pods or field(group, "status", "running"):
        return "Running", "", ""
    for row in rows(group, "status", "schedulingConditions"):
        if row.get("status", "True") == "True":
            why = next((one.get("reason") for one in rows(row, "reasons")), "") or row.get("reason")
            return "Unschedulable", str(why or ""), ""
    return "Pending", "", ""


def _noted(group: Mapping[str, Any], name: str) -> str:
    return str(mapping(group, "metadata", "annotations").get(name) or "")


def _newest(started: str, pods: Iterable[PodFacts]) -> str:
    """The last start that is known."""
    return max((started, *(pod.start for pod in pods)), key=lambda text: (moment(text, 0) or 0) if text else 0)


def _later(one: str, two: str) -> bool:
    """Whether the first is after the second; False where either is not known."""
    first, second = moment(one, 0) if one else None, moment(two, 0) if two else None
    return first is not None and second is not None and first > second
