"""``kueue``: workloads, JobSets and Pods in the form of their API documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.kueue.adapter import KueueAdapter, KueueSettings
from attribution_blueprint.connectors.eca.kueue.attempts import kueue_attempts
from attribution_blueprint.connectors.eca.kueue.kai import eviction_of, kai_attempts
from attribution_blueprint.connectors.eca.kueue.objects import conditions, facts_of
from attribution_blueprint.connectors.eca.kueue.placements import Recorder, read_placements
from attribution_blueprint.errors import CollectError, DiscoveryError
from attribution_lib.job.model import StateClass
from kueue_kit import Cluster, condition, evict_event, job, job_set, over, pod, pod_group, workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_blueprint.context import ExecutionContext

NOW = 1_795_976_400  # 2026-11-29T18:20:00Z
FAILED = condition("Failed", "FailedJobs", "jobset failed due to one or more job failures")


def discovered(cluster: Cluster, **settings: Any) -> list[ExecutionContext]:
    def run(words: Sequence[str], budget: Budget) -> bytes:
        budget.remaining()
        found = cluster.get(words[-1].removeprefix("--raw="))
        if found is None:
            msg = "kubectl: failed (1): Error from server (NotFound): the server could not find the requested resource"
            raise CollectError(msg)
        return json.dumps(found).encode()

    chosen = KueueSettings(**({"since": "1h"} | settings))
    return KueueAdapter("kueue", chosen, run, lambda: NOW).discover(Budget.of(5))


def test_a_failed_job_set_is_found_with_its_nodes_and_the_pod_that_failed_first() -> None:
    cluster = Cluster(
        workload("llm", "JobSet", condition("Finished", "JobFinished", "jobset failed")),
        job_set("llm", FAILED),
        pod("llm-0", "llm", "gpu-1", ended=(137, "OOMKilled")),
        pod("llm-1", "llm", "gpu-2", ended=(1, "Error")),
    )
    (found,) = discovered(cluster)
    info = found.info
    assert (info.job_id, info.attempt, info.user, info.partition) == ("team-a.llm", 0, "ada", "gpu-queue")
    assert (info.state_class, info.reason, info.exit_code) == (StateClass.FAILED, "OOMKilled", "137")
    assert info.nodes == ("gpu-1", "gpu-2")
    assert [(place.name, place.part, place.node) for place in found.places] == [
        ("team-a/llm-0", "train", "gpu-1"),
        ("team-a/llm-1", "train", "gpu-2"),
    ]


def test_restarts_and_evictions_are_attempts_and_only_the_present_one_s_pods_count() -> None:
    evictions = {"evictions": [{"reason": "Preempted", "count": 2}]}
    cluster = Cluster(
        workload("llm", "JobSet", schedulingStats=evictions),
        job_set("llm", FAILED, restarts=1),
        pod("llm-0", "llm", "gpu-1", attempt=0, ended=(1, "Error")),
        pod("llm-0b", "llm", "gpu-9", attempt=1, ended=(1, "Error")),
    )
    before, found = discovered(cluster)
    assert (found.info.attempt, found.info.nodes) == (3, ("gpu-9",))
    assert (before.info.attempt, before.info.nodes, before.info.state) == (2, ("gpu-1",), "Failed")


def test_an_eviction_stays_an_attempt_of_its_own_when_the_workload_runs_again(tmp_path: Path) -> None:
    """While it waits, and once it was admitted again, the attempt that was evicted has the same number."""
    stats = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}
    waiting = workload(
        "llm",
        "JobSet",
        condition("Evicted", "Preempted"),
        condition("Preempted", "InClusterQueue"),
        schedulingStats=stats,
    )
    (evicted,) = discovered(Cluster(waiting, job_set("llm")))
    assert (evicted.info.attempt, evicted.info.state_class) == (0, StateClass.PREEMPTED)

    file = tmp_path / "placements.jsonl"
    old = facts_of(pod("llm-0", "llm", "gpu-1", times=("17:50:00", "17:55:00")))
    assert old is not None
    Recorder(file).record("llm", [old])
    again = workload(
        "llm",
        "JobSet",
        over("Evicted", "QuotaReserved", "Previously: Preempted to accommodate a workload (UID: 7) due to …"),
        over("Preempted", "QuotaReserved", "Previously: …"),
        condition("Requeued", "Preempted", time="2026-11-29T17:55:00Z"),
        schedulingStats=stats,
    )
    cluster = Cluster(again, job_set("llm", FAILED), pod("llm-0b", "llm", "gpu-9", ended=(1, "Error")))
    first, second = discovered(cluster, placements=str(file))
    assert (first.info.attempt, first.info.state_class, first.info.nodes) == (0, StateClass.PREEMPTED, ("gpu-1",))
    assert first.job["end"] == "2026-11-29T17:55:00Z"
    assert (second.info.attempt, second.info.state_class, second.info.nodes) == (1, StateClass.FAILED, ("gpu-9",))


def test_a_workload_that_runs_again_still_shows_the_attempt_that_ended() -> None:
    running = workload("llm", "JobSet")
    cluster = Cluster(running, job_set("llm", restarts=1), pod("llm-0", "llm", "gpu-1", ended=(1, "Error")))
    (found,) = discovered(cluster)
    assert (found.info.attempt, found.info.state_class, found.info.exit_code) == (0, StateClass.FAILED, "1")


def test_pods_that_a_job_replaced_are_attempts_of_it() -> None:
    failed = condition("Failed", "BackoffLimitExceeded")
    cluster = Cluster(
        workload("fit", "Job", condition("Finished", "Failed")),
        job("fit", failed, failed=3),
        pod("fit-b", "fit", "gpu-2", ended=(137, "OOMKilled"), times=("18:01:00", "18:02:00")),
        pod("fit-c", "fit", "gpu-3", ended=(1, "Error"), times=("18:03:00", "18:08:50")),
    )
    for one in cluster.objects[2:]:
        one["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "fit"}
    found = [(one.info.attempt, one.info.nodes, one.info.reason, one.info.exit_code) for one in discovered(cluster)]
    assert found == [(1, ("gpu-2",), "OOMKilled", "137"), (2, ("gpu-3",), "BackoffLimitExceeded", "1")]


def test_pods_that_fail_beside_others_are_no_attempts() -> None:
    cluster = Cluster(
        workload("fit", "Job", condition("Finished", "Failed")),
        job("fit", condition("Failed", "BackoffLimitExceeded"), failed=3, parallelism=4),
    )
    assert [one.info.attempt for one in discovered(cluster)] == [0]


def test_how_a_recorded_pod_ended_outlives_it(tmp_path: Path) -> None:
    file = tmp_path / "placements.jsonl"
    for seen in (pod("llm-0", "llm", "gpu-4"), pod("llm-0", "llm", "gpu-4", ended=(137, "OOMKilled"))):
        facts = facts_of(seen)
        assert facts is not None
        assert Recorder(file).record("llm", [facts, facts]) >= 1
    (found,) = discovered(Cluster(workload("llm", "JobSet"), job_set("llm", FAILED)), placements=str(file))
    assert (found.info.reason, found.info.exit_code) == ("OOMKilled", "137")


HIGHER = "Pod team-a/llm-0 was preempted by higher priority workload prod/pg-serve-1"
SHARE = "Pod team-a/llm-0 was preempted by workload prod/pg-serve-1. research uses <8 GPUs> with a quota of <4 GPUs>"
PACKED = "Pod team-a/llm-0 was preempted and rescheduled due to bin packing (resource consolidation) procedure"
STALE = "Workload doesn't meet the minimum required number of pods (2), evicting remaining pod: team-a/llm-1"
EVICTED = {"last-start": "2026-11-29T18:00:00Z", "last-eviction": "2026-11-29T18:07:00Z"}


@pytest.mark.parametrize(
    ("action", "message", "state", "reason"),
    [
        ("preempt", HIGHER, StateClass.PREEMPTED, "Preempted"),
        ("", HIGHER, StateClass.PREEMPTED, "Preempted"),
        ("reclaim", SHARE, StateClass.PREEMPTED, "Reclaimed"),
        ("", SHARE, StateClass.PREEMPTED, "Reclaimed"),
        ("consolidation", PACKED, StateClass.PREEMPTED, "Consolidated"),
        ("", STALE, StateClass.FAILED, "StaleGangEviction"),
    ],
)
def test_kai_says_why_it_evicted(action: str, message: str, state: StateClass, reason: str) -> None:
    event = evict_event("llm", message, "2026-11-29T18:07:00Z", action, "prod/pg-serve-1" if action else "")
    cluster = Cluster(pod_group("llm", notes=EVICTED), job_set("llm"), event, schedulers=("kai",))
    (found,) = discovered(cluster)
    info = found.info
    assert (info.scheduler, info.state_class, info.reason, info.partition) == ("kai", state, reason, "research")
    assert found.job["end"] == "2026-11-29T18:07:00Z"
    assert found.job["labels"].get("evictor") == ("prod/pg-serve-1" if action else None)


def test_a_job_of_kai_that_failed_by_itself_has_its_pods_nodes_and_reason() -> None:
    cluster = Cluster(
        pod_group("llm", notes={"last-start": "2026-11-29T18:00:00Z"}),
        job_set("llm", FAILED),
        pod("llm-0", "llm", "gpu-1", ended=(137, "OOMKilled"), group="llm"),
        pod("llm-1", "llm", "gpu-2", ended=(1, "Error"), group="llm"),
        schedulers=("kai",),
    )
    (found,) = discovered(cluster)
    assert (found.info.job_id, found.info.reason, found.info.nodes) == ("team-a.llm", "OOMKilled", ("gpu-1", "gpu-2"))
    assert found.info.user == "ada"


def test_kai_jobs_of_a_kind_without_conditions_end_with_their_pods() -> None:
    cluster = Cluster(
        pod_group("solo", "Pod"),
        pod("solo", "x", "gpu-7", ended=(1, "Error"), group="solo"),
        pod("other", "y", "gpu-8", ended=(1, "Error"), group="other"),
        schedulers=("kai",),
    )
    (found,) = discovered(cluster)
    assert (found.info.state_class, found.info.nodes) == (StateClass.FAILED, ("gpu-7",))


def test_an_eviction_by_kai_and_what_ran_afterwards_are_two_attempts() -> None:
    notes = {"last-eviction": "2026-11-29T18:02:00Z", "last-start": "2026-11-29T18:03:00Z"}
    cluster = Cluster(
        pod_group("llm", notes=notes),
        job_set("llm", FAILED),
        evict_event("llm", HIGHER, "2026-11-29T18:02:00Z", "preempt"),
        pod("llm-0b", "llm", "gpu-2", ended=(1, "Error"), times=("18:03:05", "18:08:50"), group="llm"),
        schedulers=("kai",),
    )
    first, second = discovered(cluster)
    assert (first.info.attempt, first.info.state_class) == (0, StateClass.PREEMPTED)
    assert (second.info.attempt, second.info.state_class, second.info.nodes) == (1, StateClass.FAILED, ("gpu-2",))


def test_a_pod_group_that_cannot_be_placed_is_no_failure_and_says_why_when_asked() -> None:
    why = {"reason": "OverLimit", "message": "queue research has reached its limit of GPUs"}
    waits = {"type": "UnschedulableOnNodePool", "reason": "Unschedulable", "status": "True", "reasons": [why]}
    cluster = Cluster(pod_group("llm", schedulingConditions=[waits]), job_set("llm"), schedulers=("kai",))
    assert discovered(cluster) == []
    (found,) = discovered(cluster, since="", ids="team-a/llm")
    assert (found.info.state_class, found.info.reason) == (StateClass.RUNNING, "OverLimit")


def test_a_job_of_both_schedulers_is_one_job() -> None:
    cluster = Cluster(workload("llm", "JobSet"), pod_group("llm"), job_set("llm", FAILED))
    assert [one.info.scheduler for one in discovered(cluster)] == ["kueue"]


def test_a_preempted_workload_was_preempted_and_an_eviction_says_why() -> None:
    preempted = workload("a", "JobSet", condition("Evicted", "Preempted"), condition("Preempted", "InClusterQueue"))
    late = workload("b", "JobSet", condition("Evicted", "PodsReadyTimeout"))
    lost = workload("c", "JobSet", condition("Evicted", "NodeFailures"))
    found = discovered(Cluster(preempted, late, lost, job_set("a"), job_set("b"), job_set("c")))
    states = [one.info.state_class for one in found]
    assert states == [StateClass.PREEMPTED, StateClass.FAILED, StateClass.NODE_FAIL]


def test_completed_workloads_and_those_of_long_ago_are_left_out_unless_asked_for() -> None:
    done = workload("done", "JobSet", condition("Finished", "Succeeded", "jobset completed"))
    old = workload("old", "JobSet", condition("Finished", "Failed", time="2026-11-20T00:00:00Z"))
    cluster = Cluster(done, old)
    assert discovered(cluster) == []
    assert [one.info.name for one in discovered(cluster, since="", ids="team-a/done,old")] == ["done", "old"]


def test_a_placement_that_nobody_recorded_is_said_to_be_unknown() -> None:
    (found,) = discovered(Cluster(workload("llm", "JobSet"), job_set("llm", FAILED)))
    assert found.info.nodes == ()
    assert "placement unknown: its pods are gone and no recorder ran" in found.notes[0]


def test_a_recorded_placement_outlives_its_pods(tmp_path: Path) -> None:
    file = tmp_path / "placements.jsonl"
    facts = facts_of(pod("llm-0", "llm", "gpu-4"))
    assert facts is not None
    assert [Recorder(file).record("llm", [facts]) for _ in range(2)] == [1, 0]
    with file.open("a") as torn:
        torn.write('{"owner": "llm", "names')
    cluster = Cluster(workload("llm", "JobSet"), job_set("llm", FAILED))
    (found,) = discovered(cluster, placements=str(file))
    assert found.info.nodes == ("gpu-4",)
    assert len(read_placements(file)) == 1


def test_lists_are_read_page_by_page() -> None:
    cluster = Cluster(*(workload(f"w{at}", "JobSet", condition("Finished", "Failed")) for at in range(7)), page=3)
    assert len(discovered(cluster)) == 7


def test_one_that_cannot_be_read_costs_only_itself() -> None:
    broken = {"kind": "Workload", "metadata": {"name": "x"}}
    assert len(discovered(Cluster(broken, workload("llm", "JobSet", condition("Finished", "Failed"))))) == 1


def test_a_cluster_without_kueue_is_an_error_that_says_so() -> None:
    def run(words: Sequence[str], budget: Budget) -> bytes:  # noqa: ARG001 -- the runner's shape
        msg = "kubectl: failed (1): Error from server (NotFound): the server could not find the requested resource"
        raise CollectError(msg)

    with pytest.raises(DiscoveryError, match=r"no kueue\.x-k8s\.io and no scheduling\.run\.ai"):
        KueueAdapter("kueue", KueueSettings(since="1h"), run).discover(Budget.of(1))


NAMES = ["metadata", "status", "name", "conditions", "containerStatuses", "annotations", "labels", "restarts"]
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(NAMES), part),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), ANY))
def test_any_object_is_read_or_left_out(obj: dict[str, Any]) -> None:
    conditions(obj)
    try:
        facts_of(obj)
        eviction_of({"reason": "Evict", **obj})
        kai_attempts(obj, obj, [], [], [])
        kueue_attempts(obj, obj, [], [])
    except (TypeError, AttributeError) as error:
        pytest.fail(repr(error))
