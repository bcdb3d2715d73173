"""The worked examples of the public documents, through the bundled rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.taxonomy import SubDomain, TerminalState, sub_domain_of, terminal_state_of
from engine_kit import applog, syslog
from sample_cases import bundled_engine

if TYPE_CHECKING:
    from attribution_lib.verdict import Verdict


def explain(*observations: Observation, **fields: object) -> Verdict:
    job = JobInfoBuilder(**{"job_id": "4711", "scheduler": "slurm", **fields}).build()
    with Attributor(job, bundled_engine()) as attributor:
        attributor.ingest_batch(observations)
        return attributor.attribute()


def scheduler_log(*lines: str) -> Observation:
    return Observation(Source.SCHEDULER, stream="scheduler.log", text="".join(f"{line}\n" for line in lines).encode())


def blamed(verdict: Verdict) -> list[str]:
    return [row.node for row in verdict.bad_nodes]


def test_an_nvlink_fault_on_one_gpu_explains_the_nccl_error_of_another_rank() -> None:
    verdict = explain(
        syslog(
            "2026-06-01T03:14:02.000000+00:00 node-0002 kernel: NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal"
            "   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
        ),
        applog(
            "2026-06-01T03:14:05Z node-0001:4242:4300 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4567>"
            " with status=12 opcode=0 len=0 vendor err 129",
            "2026-06-01T03:14:06Z [rank3]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970"
            ", remote process exited or there was a network error, NCCL version 2.21.5",
        ),
        state="FAILED",
        exit_code="1:0",
        nodes=["node-0001", "node-0002"],
    )
    assert terminal_state_of(verdict.outcome, failed=verdict.failed) is TerminalState.FAIL
    assert sub_domain_of(verdict.outcome) is SubDomain.HARDWARE
    assert blamed(verdict) == ["node-0002"]
    assert verdict.root_cause is not None
    assert verdict.root_cause.symptom.startswith("XID-149-")


@pytest.mark.parametrize(
    "body",
    [
        "RLW_REMAP  Fatal    XC1 i0 Link -1 (0x00000004 0x80000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        "RLW_REMAP  Nonfatal XC1 i0 Link 03 (0x00000004 0x00000001 0x00000000 0x00000000 0x00000000 0x00000000)",
        "pid=1234, name=python, NVLINK: RLW error",
    ],
)
@pytest.mark.parametrize(
    ("reboot", "words"),
    [
        ("[2026-06-01T04:02:10.114] Node node-0007 unexpectedly rebooted boot_time=178", "unexpectedly rebooted"),
        ("2026-06-01T04:00:10+00:00 node-0007 systemd-logind[1200]: System is rebooting.", "is rebooting"),
        ("2026-06-01T04:00:10+00:00 node-0007 kernel: Linux version 6.8.0-1015-nvidia #1 SMP", "Linux version"),
    ],
)
def test_a_rebooted_node_with_xid_145_and_node_fail_shows_the_reboot_in_its_chain(
    body: str, reboot: str, words: str
) -> None:
    xid = f"2026-06-01T04:02:30.000000+00:00 node-0007 kernel: NVRM: Xid (PCI:0009:01:00): 145, {body}"
    logs = [scheduler_log(reboot), syslog(xid)] if reboot.startswith("[") else [syslog(reboot, xid)]
    verdict = explain(*logs, state="NODE_FAIL", failed_node="node-0007", nodes=["node-0006", "node-0007"])
    assert terminal_state_of(verdict.outcome, failed=verdict.failed) is TerminalState.FAIL
    assert sub_domain_of(verdict.outcome) is SubDomain.HARDWARE
    assert blamed(verdict) == ["node-0007"]
    assert verdict.root_cause is not None
    assert verdict.root_cause.symptom == "XID-145-NVLINK_RLW_ERROR"
    assert any(words in row.evidence for row in verdict.chain)


def test_an_injected_exception_is_named_as_injected() -> None:
    line = "nvidia_resiliency_ext.shared_utils.inject_fault.InjectedException: injected"
    verdict = explain(applog("working", f"[rank1]: {line}"), state="FAILED", nodes=["node-0042"])
    assert verdict.root_cause is not None
    assert (verdict.root_cause.symptom, verdict.root_cause.rule) == (
        "NVRx synthetic fault injection",
        "NVRXInjectedException",
    )
    assert sub_domain_of(verdict.outcome) is SubDomain.APPLICATION
    assert blamed(verdict) == []


def test_insufficient_permissions_telemetry_is_demoted_and_decides_nothing() -> None:
    status = "status: Insufficient permissions [NV_ERR_INSUFFICIENT_PERMISSIONS] (0x1b)"
    line = f"2026-06-01T03:14:02+00:00 node-0002 kernel: NVRM: {status}"
    verdict = explain(syslog(line), state="FAILED", nodes=["node-0002"])
    rows = [row for row in verdict.symptoms if row.symptom == "NV_ERR_INSUFFICIENT_PERMISSIONS"]
    assert [(row.state, row.changed_by) for row in rows] == [("demoted", "DemoteInsufficientPermissions")]
    assert sub_domain_of(verdict.outcome) is SubDomain.UNATTRIBUTED


def test_xid_171_discards_the_less_specific_symptoms_it_cascades_into() -> None:
    def xid(second: int, code: int, text: str) -> str:
        return f"2026-06-01T03:14:{second:02}+00:00 node-0002 kernel: NVRM: Xid (PCI:0000:9a:00): {code}, {text}"

    verdict = explain(
        syslog(
            xid(1, 171, "Uncorrectable DRAM error"),
            xid(2, 48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer"),
            xid(3, 94, "Contained: SM (0x1, 0x2). RST: No, D-RST: No"),
        ),
        state="FAILED",
        nodes=["node-0001", "node-0002"],
    )
    assert verdict.root_cause is not None
    assert verdict.root_cause.symptom.startswith("XID-171-")
    explained = {row.symptom: row.explained_by for row in verdict.symptoms if row.state == "discarded"}
    assert {symptom[:6] for symptom in explained} == {"XID-48", "XID-94"}
    for cause in explained.values():
        # 94 may be explained through 48
        assert verdict.root_cause.symptom in (cause, explained.get(cause or ""))
    assert blamed(verdict) == ["node-0002"]
