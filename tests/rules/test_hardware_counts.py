"""How often a fault was seen: lines that a log daemon folded count as many as they stand for, and one line once."""

from __future__ import annotations

from pathlib import Path

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.rules.loader import RuleLoader

RULES = Path(__file__).parents[2] / "rules"
CONTAINED = "NVRM: Xid (PCI:0000:9a:00): 94, pid=1512, name=python3, Contained: SM (0x1). RST: No, D-RST: No"


def occurrences(*lines: str) -> dict[str, int]:
    loader = RuleLoader([RULES])
    loader.load_all()
    job = JobInfoBuilder.from_mapping({"job_id": "7", "state": "FAILED", "nodes": ["node-0062"]}).build()
    with Attributor(job, loader.build()) as attributor:
        attributor.ingest(Observation(Source.SYSLOG, stream="syslog.log", text="\n".join(lines).encode()))
        return {row.symptom: row.occurrences for row in attributor.attribute().symptoms if row.source == "syslog"}


def test_a_repeated_message_counts_as_often_as_it_says() -> None:
    counts = occurrences(
        f"Jun  5 03:46:01 node-0062 kernel: {CONTAINED}",
        f"Jun  5 03:46:02 node-0062 kernel: message repeated 3 times: [ {CONTAINED}]",
    )

    assert counts == {"XID-94-CONTAINED_ERROR": 4}


def test_three_lines_of_one_message_are_one_occurrence() -> None:
    counts = occurrences(
        "Jun  5 03:46:01 node-0062 kernel: NVRM: The NVIDIA GPU 0000:3b:00.0",
        "Jun  5 03:46:01 node-0062 kernel: NVRM: (PCI ID: 10de:2330) installed in this system has",
        "Jun  5 03:46:01 node-0062 kernel: NVRM: fallen off the bus and is not responding to commands.",
    )

    assert counts == {"XID-79-GPU_HAS_FALLEN_OFF_THE_BUS": 1}


def test_the_register_dump_of_a_switch_error_adds_no_fault() -> None:
    counts = occurrences(
        "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 33 egress non-posted PRIV error (First)",
        "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Severity 0 Engine instance 33 Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Data {0x00000000, 0x00000000, 0x00000000}",
    )

    assert set(counts) == {"SXID-12028-NPORT_EGRESS_PRIVRSPERR"}
