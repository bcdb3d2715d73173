"""Lines that look like something else than they are; each must come out right through the whole engine."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.events.event import EventType
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.rules.matching import LineMatcher
from attribution_lib.taxonomy import Outcome, SubDomain, sub_domain_of
from engine_kit import applog, syslog
from sample_cases import bundled_engine

if TYPE_CHECKING:
    from attribution_lib.verdict import Verdict

RESTRICTED = "mlx5_core 0000:a1:00.0: mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed,"
LOST_NODE = "CANCELLED AT 2026-06-01T03:14:05 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
KERNEL = "2026-06-01T03:14:{:02}+00:00 node-0001 kernel: "


def explain(*observations: Observation, **fields: Any) -> Verdict:
    given = {"job_id": "4711", "scheduler": "slurm", "state": "FAILED", "nodes": ["node-0001", "node-0002"], **fields}
    with Attributor(JobInfoBuilder(**given).build(), bundled_engine()) as attributor:
        attributor.ingest_batch(observations)
        return attributor.attribute()


def domain(verdict: Verdict) -> SubDomain:
    return sub_domain_of(verdict.outcome)


def root_line(verdict: Verdict) -> str:
    return verdict.root_cause.evidence if verdict.root_cause else ""


def kernel(second: int, text: str) -> str:
    return KERNEL.format(second) + text


def scheduler(*lines: str) -> Observation:
    return Observation(Source.SCHEDULER, stream="scheduler.log", text="".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize(
    "line",
    [
        " iteration 100/ 5000 | number of skipped iterations: 0 | number of nan iterations: 0 |",
        "2026-06-01 03:14:02,100 [INFO] hypercorn.error: Running on http://0.0.0.0:8265 (CTRL + C to quit)",
        "INFO: the configured wall-time limit is 24:00:00, checkpoints every 30 minutes",
        "NVRM: nvGpuOpsReportFatalError: NV_WARN_NOTHING_TO_DO returned, nothing to report",
        f"{RESTRICTED} status bad parameter(0x3)",
    ],
)
@pytest.mark.parametrize("source", list(Source)[:2])
def test_a_line_that_only_sounds_bad_gives_no_bad_event(line: str, source: Source) -> None:
    matched = LineMatcher(bundled_engine(), source).lines(line.encode())
    bad = [
        event.rule
        for one in matched
        for event in one.events
        if event.event_type in (EventType.BAD_NODE, EventType.JOB_STOP)
    ]
    assert bad == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [("COMPLETED", SubDomain.NONE), ("FAILED", SubDomain.UNATTRIBUTED), ("TIMEOUT", SubDomain.NONE)],
)
def test_a_row_remap_is_read_and_blames_no_gpu_however_the_job_ended(state: str, expected: SubDomain) -> None:
    line = "NVRM: Xid (PCI:0000:9a:00): 63, Row Remapper: New row marked for remapping, reset gpu to activate."
    verdict = explain(syslog(kernel(1, line)), state=state, exit_code="0:0" if state == "COMPLETED" else "1:0")
    assert "XID-63-INFOROM_DRAM_RETIREMENT_EVENT" in [row.symptom for row in verdict.symptoms]
    assert domain(verdict) is expected
    assert verdict.bad_nodes == []


def test_the_same_line_as_another_xid_would_blame_the_gpu() -> None:
    line = "NVRM: Xid (PCI:0000:9a:00): 64, Row Remapper: Error writing to InfoROM, some rows may be remapped twice."
    verdict = explain(syslog(kernel(1, line)), state="FAILED", exit_code="1:0")
    assert domain(verdict) is SubDomain.HARDWARE
    assert len(verdict.bad_nodes) == 1


@pytest.mark.parametrize("code", [43, 45])
def test_a_channel_clean_up_after_a_python_error_is_only_its_echo(code: int) -> None:
    log = applog(
        "[rank0]: Traceback (most recent call last):",
        '[rank0]:   File "/home/user1/train.py", line 12, in main',
        "[rank0]: ValueError: batch size must be positive",
        node="node-0001",
    )
    xid = syslog(kernel(9, f"NVRM: Xid (PCI:0000:9a:00): {code}, pid=91, name=python3, Ch 00000008"))
    verdict = explain(log, xid)
    assert domain(verdict) is SubDomain.APPLICATION
    assert "ValueError" in root_line(verdict)


def test_a_graphics_exception_seconds_after_the_programs_own_error_is_only_its_echo() -> None:
    log = applog(
        "2026-06-01 03:14:02,100 rank0 Traceback (most recent call last):",
        "2026-06-01 03:14:02,101 RuntimeError: CUDA error: an illegal memory access was encountered",
        node="node-0001",
    )
    xid = syslog(
        kernel(7, "NVRM: Xid (PCI:0000:9a:00): 13, pid=91, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 1)")
    )
    verdict = explain(log, xid)
    assert domain(verdict) is SubDomain.APPLICATION
    assert verdict.bad_nodes == []


def test_three_lines_of_a_lost_gpu_and_its_xid_79_are_one_finding() -> None:
    verdict = explain(
        syslog(
            kernel(1, "NVRM: The NVIDIA GPU 0000:3b:00.0"),
            kernel(1, "NVRM: (PCI ID: 10de:2330) installed in this system has"),
            kernel(1, "NVRM: fallen off the bus and is not responding to commands."),
            kernel(2, "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        )
    )
    assert domain(verdict) is SubDomain.HARDWARE
    assert [row.node for row in verdict.bad_nodes] == ["node-0001"]
    assert not verdict.alternatives
    alive = {row.symptom for row in verdict.symptoms if row.state in ("root", "remaining") and row.source == "syslog"}
    assert len(alive) == 1


def test_message_repeated_counts_as_often_as_it_says() -> None:
    line = "message repeated 3 times: [ NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.]"
    verdict = explain(syslog(kernel(1, line)))
    assert [row.occurrences for row in verdict.symptoms if row.state == "root"] == [3]


def test_an_oom_report_that_names_no_victim_is_still_an_oom() -> None:
    verdict = explain(
        syslog(
            kernel(1, "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0"),
            kernel(1, "CPU: 3 PID: 4242 Comm: python3 Not tainted 5.15.0"),
        ),
        nodes=["node-0001"],
    )
    assert verdict.outcome is Outcome.HOST_OUT_OF_MEMORY


def test_a_restricted_register_access_is_interesting_and_never_bad() -> None:
    line = f"{RESTRICTED} status bad parameter(0x3), syndrome (0x15c356), err(-22)"
    verdict = explain(syslog(kernel(1, line)))
    assert domain(verdict) is SubDomain.UNATTRIBUTED
    assert [row.node for row in verdict.interesting_nodes] == ["node-0001"]


def test_torchruns_first_observed_failure_loses_to_an_earlier_failure_of_another_node() -> None:
    summary = applog(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-06-01_03:20:00",
        "  host      : node-0002",
        "  rank      : 8 (local_rank: 0)",
        "  exitcode  : 1 (pid: 4242)",
        "============================================================",
        stream="node2.log",
    )
    first = applog(
        "2026-06-01 03:14:02,101 [rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
        stream="node1.log",
        node="node-0001",
    )
    verdict = explain(summary, first)
    assert domain(verdict) is SubDomain.HARDWARE
    assert [row.node for row in verdict.bad_nodes] == ["node-0001"]


def test_rays_fixed_list_of_possible_causes_is_no_evidence_of_any() -> None:
    line = (
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. There are some "
        "potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. "
        "(2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other "
        "unexpected errors."
    )
    verdict = explain(applog(line))
    assert verdict.outcome is not Outcome.HOST_OUT_OF_MEMORY
    assert domain(verdict) in (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)


def test_a_watchdog_wave_across_midnight_is_one_incident() -> None:
    text = (
        "[rank{0}]:[E{1} ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=90, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600042 milliseconds "
        "before timing out."
    )
    verdict = explain(
        applog(text.format(0, "531 23:59:58.100000000"), text.format(1, "601 00:00:01.200000000")),
        start="2026-05-31T20:00:00Z",
        end="2026-06-01T00:05:00Z",
    )
    assert domain(verdict) is SubDomain.AMBIGUOUS
    assert [row.occurrences for row in verdict.symptoms if row.state == "root"] == [2]
    assert verdict.root_cause is not None
    assert verdict.root_cause.rank == 0


SEGMENTS = {
    "hc: GPU ECC errors on GPU 3": "Drain reason names a GPU fault",
    "Not responding": "Node down (scheduler)",
    "Kill task failed": "Unkillable processes on the node",
    "Node unexpectedly rebooted": "Node unexpectedly rebooted",
    "maintenance window": "Maintenance note of the operators",
}


@pytest.mark.parametrize("separator", ["; ", " : "])
@pytest.mark.parametrize(
    "form",
    [
        "slurmctld: update_node: node node-0001 reason set to: {}",
        "NodeName=node-0001 State=DRAIN Reason={} [slurm@2026-06-01T03:10:00]",
    ],
)
def test_every_segment_of_a_drain_reason_is_read_in_whatever_order(form: str, separator: str) -> None:
    matcher = LineMatcher(bundled_engine(), Source.SCHEDULER)
    for segments in permutations(SEGMENTS):
        line = form.format(separator.join(segments))
        found = {event.symptom for one in matcher.lines(line.encode()) for event in one.events}
        assert set(SEGMENTS.values()) <= found, line


def test_a_step_cancelled_after_a_bad_exit_is_no_cancellation() -> None:
    verdict = explain(
        applog(
            "KeyError: 'lr'",
            "srun: error: node-0001: task 3: Exited with exit code 1",
            "srun: Terminating StepId=4711.0",
            "slurmstepd: error: *** STEP 4711.0 ON node-0001 CANCELLED AT 2026-06-01T03:14:05 ***",
        )
    )
    assert domain(verdict) is SubDomain.APPLICATION
    assert "KeyError" in root_line(verdict)


def test_a_node_failure_printed_by_a_survivor_does_not_blame_the_survivor() -> None:
    line = f"slurmstepd: error: *** JOB 4711 ON node-0001 {LOST_NODE}"
    verdict = explain(applog(line), state="NODE_FAIL", failed_node="node-0002")
    assert verdict.outcome is Outcome.NODE_DOWN
    assert [row.node for row in verdict.bad_nodes] == ["node-0002"]
    assert [row.node for row in explain(applog(line), state="NODE_FAIL").bad_nodes] == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_carrier_delivered_twice_is_still_no_flap(times: int) -> None:
    lines = ["2026-06-01T03:14:01+00:00 node-0001 systemd-networkd[2385]: ib1: Lost carrier"] * times
    lines.append("2026-06-01T03:14:05+00:00 node-0001 systemd-networkd[2385]: ib1: Gained carrier")
    verdict = explain(syslog(*lines))
    assert verdict.bad_nodes == []
