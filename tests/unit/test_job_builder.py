"""Job facts: what is taken, what is refused, and that every fault names its field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from attribution_lib.errors import JobError
from attribution_lib.job.builder import JOB_KEYS, JobInfoBuilder
from attribution_lib.job.hostlist import MAX_NODES, HostlistError, expand_nodes
from attribution_lib.job.model import ExecutionCancellation, JobInfo, SchedulerFailure, StateClass
from attribution_lib.names import NodeNames

_AT = 1_780_283_642_000_000  # 2026-06-01T03:14:02Z
_CANCELLATION = {"record_id": "4711", "cancelled_by": "user1", "time": "2026-06-01T03:14:02Z"}
_FAILURE = {"allocation_id": "4711", "state": "NODE_FAIL", "source": "slurmctld", "time": "2026-06-01T03:14:02Z"}


def build(**fields: Any) -> JobInfo:
    return JobInfoBuilder.from_mapping({"job_id": "4711", **fields}).build()


def faults(mapping: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(JobError) as caught:
        JobInfoBuilder.from_mapping(mapping, **options).build()
    return [fault.address for fault in caught.value.faults]


def test_a_job_id_is_enough() -> None:
    job = build()
    assert (job.job_id, job.attempt, job.cluster, job.scheduler.value) == ("4711", 0, "default", "static")
    assert (job.start, job.end, job.timezone, job.margin_before, job.margin_after) == (None, None, "UTC", 600, 900)


def test_keyword_and_mapping_forms_build_the_same_job() -> None:
    fields: dict[str, Any] = {
        "job_id": "4711",
        "nodes": "node[01-03]",
        "state": "NODE_FAIL",
        "start": "2026-06-01T03:14:02Z",
    }
    assert JobInfoBuilder(**fields).build() == JobInfoBuilder.from_mapping(fields).build()


def test_all_faults_come_at_once_and_name_their_fields() -> None:
    wrong = {
        "job_id": 4711,
        "attempt": -1,
        "cluster": "a:b",
        "scheduler": "pbs",
        "user": 7,
        "labels": {"team": 1},
        "node_labels": {"node-0001": {"zone": "a"}},
        "nodes": ["node-0001", 5],
        "ranks": [{"rank": 0, "node": "n1"}, {"rank": 0, "node": "n2"}, {"node": "n3"}],
        "start": "2026-06-01T03:14:02",
        "end": "yesterday",
        "timezone": "Mars/Olympus",
        "margin_before": 1.5,
        "allocation_failure": {"state": "NODE_FAIL"},
        "colour": "red",
    }
    assert faults(wrong) == [
        "job.colour",
        "job.timezone",
        "job.job_id",
        "job.attempt",
        "job.cluster",
        "job.scheduler",
        "job.user",
        "job.labels.team",
        "job.node_labels.node-0001.zone",
        "job.nodes[1]",
        "job.ranks[1].rank",
        "job.ranks[2].rank",
        "job.start",
        "job.end",
        "job.margin_before",
        "job.allocation_failure.allocation_id",
        "job.allocation_failure.source",
        "job.allocation_failure.time",
    ]


@pytest.mark.parametrize("key", JOB_KEYS)
def test_no_field_accepts_an_object_of_nonsense(key: str) -> None:
    addresses = faults({"job_id": "4711", key: [{"x": object()}]})
    assert any(address.startswith(f"job.{key}") for address in addresses)


@pytest.mark.parametrize("text", ["", "-a", "a b", "a/b", "a" * 201, "é", "a\n"])
def test_ids_that_cannot_be_part_of_a_key_are_refused(text: str) -> None:
    assert faults({"job_id": text}) == ["job.job_id"]


@pytest.mark.parametrize("text", ["4711", "ns.name", "4711_3", "a:b+c-d", "a" * 200])
def test_usual_ids_are_taken(text: str) -> None:
    assert build(job_id=text).job_id == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-06-01T03:14:02Z", _AT),
        ("2026-06-01t03:14:02.000001z", _AT + 1),
        ("2026-06-01T05:14:02+02:00", _AT),
        ("2026-06-01T03:14:02.123456789Z", _AT + 123_456),
        (datetime(2026, 6, 1, 3, 14, 2, tzinfo=UTC), _AT),
        (datetime(2026, 6, 1, 5, 14, 2, tzinfo=timezone(timedelta(hours=2))), _AT),
    ],
)
def test_times_are_taken_with_their_offset(given: object, expected: int) -> None:
    assert build(start=given).start == expected


@pytest.mark.parametrize("given", ["2026-06-01T03:14:02", "2026-06-01", "1780283642", 1780283642, datetime(2026, 6, 1)])  # noqa: DTZ001 -- naive on purpose
def test_naive_and_foreign_times_are_refused(given: object) -> None:
    assert faults({"job_id": "1", "end": given}) == ["job.end"]


def test_a_case_file_s_naive_times_are_read_in_its_zone() -> None:
    fields = {"job_id": "1", "timezone": "Europe/Berlin", "start": datetime(2026, 6, 1, 5, 14, 2)}  # noqa: DTZ001 -- as TOML gives it
    assert JobInfoBuilder.from_mapping(fields, naive_in_timezone=True).build().start == _AT


def test_a_case_file_s_cancellation_time_still_needs_its_offset() -> None:
    cancellation = {**_CANCELLATION, "time": "2026-06-01T03:14:02"}
    found = faults({"job_id": "4711", "execution_cancellation": cancellation}, naive_in_timezone=True)
    assert found == ["job.execution_cancellation.time"]


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    assert faults({"job_id": "1", "start": "2026-06-01T03:00:00Z", "end": "2026-06-01T02:00:00Z"}) == ["job.end"]


@pytest.mark.parametrize("name", ["localtime", "../../etc/passwd", "America", "x" * 5000, "", 5])
def test_only_named_time_zones_are_taken(name: object) -> None:
    assert faults({"job_id": "1", "timezone": name}) == ["job.timezone"]


def test_without_a_job_id_nodes_and_window_identify_the_job() -> None:
    window: dict[str, Any] = {"start": "2026-06-01T03:00:00Z", "end": "2026-06-01T04:00:00Z"}
    one = JobInfoBuilder(nodes=["b", "a"], **window).build()
    same = JobInfoBuilder(nodes="a,b", start="2026-06-01T05:00:00+02:00", end=window["end"]).build()
    other = JobInfoBuilder(nodes=["a"], **window).build()
    assert one.job_id == same.job_id != other.job_id
    assert one.job_id.startswith("window-")
    assert len(one.job_id) == len("window-") + 12


@pytest.mark.parametrize(
    "fields", [{}, {"nodes": ["a"]}, {"nodes": ["a"], "start": "2026-06-01T03:00:00Z"}, {"nodes": []}]
)
def test_less_than_that_identifies_nothing(fields: dict[str, Any]) -> None:
    assert faults(fields) == ["job.job_id"]


def test_in_a_case_folder_nodes_alone_are_enough() -> None:
    assert JobInfoBuilder.from_mapping({"nodes": ["a"]}, nodes_suffice=True).build().job_id.startswith("window-")


def test_nodes_become_canonical_and_appear_once() -> None:
    names = NodeNames(mapping={"10.0.0.7": "node-0007"}, ignored_prefixes=("ip-",))
    given = ["node-0001.example.com", "node-0001", "10.0.0.7", "ip-node-0009", "gpu[08-10]"]
    job = JobInfoBuilder(job_id="1", nodes=given, failed_node="node-0001.example.com", names=names).build()
    assert job.nodes == ("node-0001", "node-0007", "node-0009", "gpu08", "gpu09", "gpu10")
    assert job.failed_node == "node-0001"


def test_node_labels_and_ranks_follow_the_canonical_names() -> None:
    job = build(
        node_labels={"node-0001.example.com": {"gpu_model": "H100"}},
        ranks=[{"rank": 1, "node": "node-0001.example.com", "local_rank": 1}, {"rank": 0, "node": "node-0001"}],
    )
    assert job.node_labels == {"node-0001": {"gpu_model": "H100"}}
    assert [(placed.rank, placed.node, placed.local_rank) for placed in job.ranks] == [
        (0, "node-0001", None),
        (1, "node-0001", 1),
    ]


def test_the_state_class_is_worked_out_and_the_raw_text_kept() -> None:
    job = build(state="CANCELLED by 1234", exit_code="-6:0", reason="None")
    assert (job.state, job.exit_code, job.reason) == ("CANCELLED by 1234", "-6:0", "None")
    assert (job.state_class, job.state_listed) == (StateClass.CANCELLED, True)
    assert build(state="QUANTUM").state_listed is False


@pytest.mark.parametrize("record_id", ["4711", "4711:2", "4711.2"])
def test_a_cancellation_of_this_record_is_taken(record_id: str) -> None:
    job = build(attempt=2, execution_cancellation={**_CANCELLATION, "record_id": record_id})
    assert job.execution_cancellation == ExecutionCancellation(record_id, "user1", _AT)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"record_id": "4712"}, "record_id"),
        ({"record_id": "4711:1"}, "record_id"),
        ({"record_id": "4711_2"}, "record_id"),
        ({"record_id": None}, "record_id"),
        ({"cancelled_by": ""}, "cancelled_by"),
        ({"cancelled_by": None}, "cancelled_by"),
        ({"time": None}, "time"),
        ({"time": "2026-06-01T03:14:02"}, "time"),
        ({"why": "?"}, "why"),
    ],
)
def test_a_cancellation_that_is_not_this_record_s_or_not_whole_is_refused(change: dict[str, Any], field: str) -> None:
    wrong = {"job_id": "4711", "attempt": 2, "execution_cancellation": {**_CANCELLATION, **change}}
    assert faults(wrong) == [f"job.execution_cancellation.{field}"]


def test_the_dataclasses_are_taken_as_well_as_objects() -> None:
    cancellation = ExecutionCancellation("4711", "user1", _AT)
    failure = SchedulerFailure("4711", "NODE_FAIL", "node-0001", "slurmctld", _AT)
    job = build(execution_cancellation=cancellation, allocation_failure=failure)
    assert (job.execution_cancellation, job.allocation_failure) == (cancellation, failure)
    assert build(allocation_failure={**_FAILURE, "failed_node": "node-0001"}).allocation_failure == failure


@pytest.mark.parametrize("field", ["allocation_id", "state", "source", "time"])
def test_an_allocation_failure_needs_its_identity_and_time(field: str) -> None:
    partial = {key: value for key, value in _FAILURE.items() if key != field}
    assert faults({"job_id": "4711", "allocation_failure": partial}) == [f"job.allocation_failure.{field}"]


def test_host_lists_expand_in_order() -> None:
    assert expand_nodes("node[0001-0003,0200],gpu-7,x[1-2]y[8-9]") == [
        "node0001",
        "node0002",
        "node0003",
        "node0200",
        "gpu-7",
        "x1y8",
        "x1y9",
        "x2y8",
        "x2y9",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "n[1-999999999]",
        "n[1-200][1-200]",
        "n[1-20001]",
        "n[1-15000],m[1-15000]",
        "n[1-9]" * 9,
        "n[",
        "n]",
        "n[[1]]",
        "n[a-b]",
        "n[]",
        "n[9-1]",
        "n[1-" + "9" * 5000 + "]",
        "x" * 3_000_000,
    ],
)
def test_hostile_host_lists_are_refused_before_they_grow(text: str) -> None:
    with pytest.raises(HostlistError):
        expand_nodes(text)
    assert faults({"job_id": "1", "nodes": text}) == ["job.nodes"]


def test_the_most_nodes_a_job_may_have_and_one_more() -> None:
    assert len(build(nodes=f"n[1-{MAX_NODES}]").nodes) == MAX_NODES
    assert len(build(nodes=[f"n{number}" for number in range(MAX_NODES)]).nodes) == MAX_NODES
    assert faults({"job_id": "1", "nodes": [f"n{number}" for number in range(MAX_NODES + 1)]}) == ["job.nodes"]


def test_many_host_lists_together_are_refused_as_early_as_one() -> None:
    assert faults({"job_id": "1", "nodes": [f"n{number}[1-20000]" for number in range(20_000)]}) == ["job.nodes"]


@pytest.mark.parametrize("value", [None, 5, "job", ["job_id"]])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert faults(value) == ["job"]
