"""``kueue``: workloads, JobSets and Pods in the form of their API documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.kueue.adapter import KueueAdapter, KueueSettings
from attribution_blueprint.connectors.eca.kueue.objects import conditions, facts_of
from attribution_blueprint.connectors.eca.kueue.placements import Recorder, read_placements
from attribution_blueprint.errors import CollectError, DiscoveryError
from attribution_lib.job.model import StateClass
from kueue_kit import Cluster, condition, job_set, pod, workload

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
    (found,) = discovered(cluster)
    assert (found.info.attempt, found.info.nodes) == (3, ("gpu-9",))


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

    with pytest.raises(DiscoveryError, match="no kueue"):
        KueueAdapter("kueue", KueueSettings(since="1h"), run).discover(Budget.of(1))


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "status", "name", "conditions", "containerStatuses"]), part)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), ANY))
def test_any_object_is_read_or_left_out(obj: dict[str, Any]) -> None:
    conditions(obj)
    try:
        facts_of(obj)
    except (TypeError, AttributeError) as error:
        pytest.fail(repr(error))
