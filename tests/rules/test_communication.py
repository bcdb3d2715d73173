"""Communication rules as a whole: reports of several lines, collectors, and the collapse of a big job's symptoms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.sample_cases import bundled_engine

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.taxonomy import sub_domain_of, terminal_state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.verdict import Verdict


def attribute(lines: Sequence[str], scheduler: Sequence[str] = (), **job: Any) -> tuple[Verdict, list[Event]]:
    """The verdict over one application log and one scheduler log, and the events behind it."""
    facts = JobInfoBuilder.from_mapping(
        {"job_id": "1", "nodes": ["node-0001", "node-0002"], "state": "FAILED", **job}
    ).build()
    with Attributor(facts, bundled_engine()) as attributor:
        attributor.ingest(Observation(Source.APPLOG, stream="applog.log", text=("\n".join(lines) + "\n").encode()))
        if scheduler:
            text = ("\n".join(scheduler) + "\n").encode()
            attributor.ingest(Observation(Source.SCHEDULER, stream="scheduler.log", text=text))
        verdict, stream = attributor.attribute_with_stream()
    return verdict, list(stream)


def facts_of(events: Sequence[Event], kind: str) -> list[dict[str, Any]]:
    """Payloads of one kind, with the place of their event."""
    return [
        {**event.payload, "node": event.node, "rank": event.rank}
        for event in events
        if event.payload.get("kind") == kind
    ]


SUMMARY = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-06-03_22:45:52
  host      : node-0002
  rank      : 11 (local_rank: 3)
  exitcode  : -6 (pid: 19418)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 19418
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-06-03_22:45:50
  host      : node-0002
  rank      : 8 (local_rank: 0)
  exitcode  : 1 (pid: 19414)
  error_file: /tmp/error.json
  traceback : Traceback (most recent call last):
    File "train.py", line 3, in <module>
  KeyError: 'labels'
============================================================""".splitlines()


def test_an_elastic_summary_tells_every_failed_rank_with_host_and_code() -> None:
    """Both blocks, and which one the agent saw first."""
    _, events = attribute(SUMMARY)
    failures = {fact["rank"]: fact for fact in facts_of(events, "elastic_failure")}
    assert {rank: fact["node"] for rank, fact in failures.items()} == {8: "node-0002", 11: "node-0002"}
    assert (failures[8]["exitcode"], failures[8]["first"], failures[8]["time"]) == ("1", True, "2026-06-03_22:45:50")
    assert (failures[11]["exitcode"], failures[11]["first"]) == ("-6", False)


def test_an_elastic_summary_places_the_lines_of_its_ranks() -> None:
    """A rank's own line has no host; the summary knows it."""
    verdict, _ = attribute(["[rank8]: KeyError: 'labels'", *SUMMARY])
    assert verdict.root_cause is not None
    assert (verdict.root_cause.node, verdict.root_cause.rank) == ("node-0002", 8)


def test_a_summary_behind_labels_of_several_tasks_is_read_per_task() -> None:
    """Two agents print at the same time; srun's labels keep them apart."""
    other = [line.replace("node-0002", "node-0001").replace("rank      : 8", "rank      : 0") for line in SUMMARY]
    mixed = [f"{task}: {line}" for pair in zip(SUMMARY, other, strict=True) for task, line in enumerate(pair)]
    _, events = attribute(mixed)
    assert {(fact["node"], fact["rank"]) for fact in facts_of(events, "elastic_failure") if fact["first"]} == {
        ("node-0002", 8),
        ("node-0001", 0),
    }


def test_the_flight_recorders_table_names_missing_ranks_per_group() -> None:
    """One row a group, the last column holds the ranks."""
    verdict, events = attribute(
        [
            "PGID   | Process Group Desc        | Op Type    | Size      | Dtype    | Missing Ranks",
            "72     | EXPERT_MODEL_PARALLEL_GROUP,0 | nccl:all_to_all | 2048x5120 | BFloat16 | 9,14",
            "73     | DATA_PARALLEL_GROUP       | nccl:all_reduce | 10 | BFloat16 | 9",
            "done",
        ]
    )
    assert [fact["ranks"] for fact in facts_of(events, "missing_ranks")] == ["9, 14", "9"]
    assert verdict.collections["collectives"]["missing_ranks"] == [9, 14]
    assert verdict.outcome == "communication_failure"


def test_a_flight_recorder_finding_of_missing_ranks_is_ambiguous() -> None:
    """The trace analysis says who never came, not why."""
    verdict, _ = attribute(
        [
            "Not all ranks joining collective, sequence number: 640",
            "internal record id: 12",
            "group info: 0:default_pg",
            "collective: nccl:all_reduce",
            "missing ranks: {5}",
        ]
    )
    assert verdict.root_cause is not None
    assert verdict.root_cause.symptom == "Ranks missing from a collective"
    assert verdict.collections["collectives"]["missing_ranks"] == [5]


def test_a_flight_recorder_finding_of_another_collective_is_the_programs() -> None:
    """Types that differ are a mismatch; a mere difference of state is none."""
    head = ["Collective sequence number: 640 has errors", "collective: nccl:all_reduce"]
    kind = "error messages: Culprit rank 3; Error type: COLLECTIVE_{}_MISMATCH, Expected 'all_reduce' does not match"
    verdict, _ = attribute([*head, kind.format("TYPE")])
    assert sub_domain_of(verdict.outcome) == "application"
    verdict, _ = attribute([*head, kind.format("STATE")])
    assert sub_domain_of(verdict.outcome) != "application"


def test_a_table_of_ranks_in_one_line_places_all_of_them() -> None:
    """DeepSpeed prints it once at the start."""
    table = "global_rank_mapping=defaultdict(<class 'list'>, {'node-0001': [0, 1], 'node-0002': [2, 3]})"
    verdict, _ = attribute([f"[INFO] [launch.py:164:main] {table}", "[rank3]: KeyError: 'labels'"])
    assert verdict.root_cause is not None
    assert verdict.root_cause.node == "node-0002"


def test_the_laggard_is_the_rank_with_the_lowest_completed_sequence() -> None:
    """Compared over the ranks that gave a position."""
    line = (
        "[rank{0}]:[E620 15:34:12.120840112 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank {0}]  failure detected "
        "by watchdog at work sequence id: 34397 PG status: last enqueued work: 34397, last completed work: {1}"
    )
    verdict, _ = attribute([line.format(0, 34396), line.format(1, 34396), line.format(2, 34390)])
    collectives = verdict.collections["collectives"]
    assert collectives["laggards"] == [2]
    assert collectives["last_sequence"]["2"]["completed"] == 34390


def collapse() -> tuple[list[str], list[str], list[str]]:
    """1,307 lines of 128 nodes without a time: what survivors print, one wrong interface, and the end."""
    nodes = [f"node-{number:04d}" for number in range(1, 129)]
    lines = [
        f"{nodes[i % 128]}:1{i}:77 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer "
        f"{nodes[(i + 1) % 128]}<4{i % 1000:03d}>"
        for i in range(800)
    ]
    lines += [
        f"{nodes[i % 128]} [rank{i}]: ncclRemoteError: A call failed possibly due to a network error or a remote "
        "process exiting prematurely."
        for i in range(500)
    ]
    lines += ["node-0007 [rank48]: ncclInternalError: Internal check failed."] * 3
    lines += ["node-0007:88:90 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found"]
    scheduler = [
        "slurmstepd: error: *** JOB 1 ON node-0001 CANCELLED AT 2026-06-01T03:10:00 DUE to SIGNAL Terminated ***",
        "slurmstepd: error: *** STEP 1.0 ON node-0001 CANCELLED AT 2026-06-01T03:10:00 DUE to SIGNAL Terminated ***",
        "slurmstepd: error: *** STEP 1.0 ON node-0001 CANCELLED AT 2026-06-01T03:10:00 DUE TO TASK FAILURE ***",
    ]
    return nodes, lines, scheduler


def test_the_symptoms_of_a_big_job_collapse_to_the_one_cause() -> None:
    """Fail, system software; every symptom with its exact count of lines and nodes."""
    nodes, lines, scheduler = collapse()
    verdict, _ = attribute(lines, scheduler, nodes=nodes, state="CANCELLED")
    assert terminal_state_of(verdict.outcome, failed=verdict.failed) == "fail"
    assert sub_domain_of(verdict.outcome) == "system_software"
    counted: dict[str, tuple[int, int]] = {}
    for row in verdict.symptoms:
        occurrences, on = counted.get(row.symptom, (0, 0))
        counted[row.symptom] = (occurrences + row.occurrences, on + row.nodes)
    assert counted["Connection closed"] == (800, 128)
    assert counted["ncclRemoteError"] == (500, 128)
    assert counted["ncclInternalError"] == (3, 1)
    assert counted["NCCL invalid NIC selection"] == (1, 1)
    assert counted["Cancelled by user"][0] == 2
    assert counted["Cancelled due to task failure"][0] == 1
    of_lines = [row for row in verdict.symptoms if not row.symptom.startswith(("Scheduler state", "Execution"))]
    assert sum(row.occurrences for row in of_lines) == 1_307


def test_an_error_and_its_explanation_count_once() -> None:
    """PyTorch prints both lines for one failure."""
    lines = []
    for rank in range(5):
        text = "NCCL error in: /p/x.cpp:2251, remote process exited or there was a network error, NCCL version 2.27.5"
        lines.append(f"[rank{rank}]: torch.distributed.DistBackendError: {text}")
        lines.append(f"[rank{rank}]: ncclRemoteError: A call failed possibly due to a network error")
    verdict, _ = attribute(lines)
    kept = [row for row in verdict.symptoms if row.symptom == "ncclRemoteError" and row.state != "discarded"]
    assert sum(row.occurrences for row in kept) == 5


def test_an_address_that_maps_to_no_node_puts_no_fault_aside() -> None:
    """A store's loopback address is no place; what stands on a node is judged as without it."""
    lost = (
        "[c10d] recvValue failed on SocketImpl(fd=6, addr=[::ffff:127.0.0.1]:37468, remote=[::ffff:127.0.0.1]:6006): x"
    )
    app = ["2026-06-01T03:00:05Z [rank0]: RuntimeError: no labels", f"2026-06-01T03:00:06Z {lost}"]
    kernel = "2026-06-01T03:00:03Z node-0002 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus."
    facts = JobInfoBuilder.from_mapping({"job_id": "1", "nodes": ["node-0001", "node-0002"], "state": "FAILED"}).build()
    with Attributor(facts, bundled_engine()) as attributor:
        attributor.ingest(Observation(Source.APPLOG, stream="applog.log", text="\n".join([*app, ""]).encode()))
        attributor.ingest(Observation(Source.SYSLOG, stream="syslog.log", text=f"{kernel}\n".encode()))
        verdict = attributor.attribute()
    assert [row.node for row in verdict.bad_nodes] == ["node-0002"]
