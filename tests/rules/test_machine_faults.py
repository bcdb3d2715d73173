"""Faults of machines beside a program's own errors, and links lost together: however the evidence comes in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint.case_files import Evidence
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.taxonomy import sub_domain_of
from record_gaps import record_gaps
from sample_cases import attribute
from transformations import in_pieces, with_lines_doubled, with_noise, with_ranks_interleaved, with_times_shifted

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.verdict import Verdict

LOST = "NVRM: Xid (PCI:0000:ab:00): 79, pid=1, name=python, GPU has fallen off the bus."
WATCHDOG = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, Timeout(ms)=600000)"
NODES = tuple(f"node-000{number}" for number in range(1, 5))
SITUATIONS = {
    "its own error after the fault": (
        ["2026-06-01T03:00:08Z [rank3]: KeyError: 'lr'", "2026-06-01T03:00:09Z step failed"],
        [f"2026-06-01T03:00:01Z node-0002 kernel: {LOST}"],
        ("application", "Python KeyError", []),
    ),
    "its own error long before the fault": (
        ["2026-06-01T02:30:00Z [rank3]: KeyError: 'lr'"],
        [f"2026-06-01T03:00:01Z node-0002 kernel: {LOST}"],
        ("application", "Python KeyError", []),
    ),
    "an error that a failed collective led to": (
        [
            f"2026-06-01T03:10:01Z [rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] {WATCHDOG} ran for 600029 ms",
            "2026-06-01T03:10:02Z [rank3]: KeyError: 'grad_norm'",
        ],
        [f"2026-06-01T03:00:01Z node-0002 kernel: {LOST}"],
        ("hardware", "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS", ["node-0002"]),
    ),
    "an old kernel line that a script shows": (
        [f"[612331.200412] {LOST}", "=== preflight ok ===", "[rank0]: ValueError: unknown optimizer 'adm'"],
        [],
        ("application", "Python ValueError", []),
    ),
    "links that all nodes lose": (
        ["2026-06-01T03:00:09Z [rank3]: ncclRemoteError: A call failed possibly due to a network error"],
        [f"2026-06-01T03:00:01Z {node} kernel: mlx5_core 0000:5e:00.0 ibp94s0: Link down" for node in NODES],
        ("ambiguous", "Links of many nodes lost together", []),
    ),
}
CHANGES: dict[str, Callable[[Evidence], Evidence]] = {
    "as it is": lambda evidence: evidence,
    "20,000 benign lines mixed in": lambda evidence: with_noise(evidence, 1, record_gaps),
    "ranks interleaved": with_ranks_interleaved,
    "all times shifted": with_times_shifted,
    "every line doubled": with_lines_doubled,
    "streams cut and shuffled": lambda evidence: in_pieces(evidence, 2, record_gaps),
    "in the other order": lambda evidence: replace(evidence, observations=evidence.observations[::-1]),
}


def evidence_of(app: list[str], kernel: list[str]) -> Evidence:
    facts = {"job_id": "1", "nodes": list(NODES), "state": "FAILED"}
    texts = ((Source.APPLOG, "applog.log", app), (Source.SYSLOG, "syslog.log", kernel))
    return Evidence(
        JobInfoBuilder.from_mapping(facts).build(),
        [Observation(source, stream=name, text="\n".join([*lines, ""]).encode()) for source, name, lines in texts],
        (),
    )


def summary(verdict: Verdict) -> tuple[str, str | None, list[str]]:
    root = verdict.root_cause.symptom if verdict.root_cause else None
    return sub_domain_of(verdict.outcome).value, root, [row.node for row in verdict.bad_nodes]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_verdict_does_not_hang_on_how_the_evidence_comes_in(situation: str, change: str) -> None:
    app, kernel, expected = SITUATIONS[situation]
    assert summary(attribute(CHANGES[change](evidence_of(app, kernel)))) == expected


def test_a_fault_that_the_program_did_not_meet_leaves_its_node_interesting_and_the_verdict_less_sure() -> None:
    app, kernel, _ = SITUATIONS["its own error after the fault"]
    verdict = attribute(evidence_of(app, kernel))
    assert ([row.node for row in verdict.interesting_nodes], verdict.confidence) == (["node-0002"], "medium")
