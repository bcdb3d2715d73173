"""What may change in the evidence of every sample without changing sub-domain, root symptom and nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import sub_domain_of
from record_gaps import record_gaps
from sample_cases import CASES, attribute, evidence_of, verdict_of
from transformations import (
    in_pieces,
    with_hosts_renamed,
    with_lines_doubled,
    with_noise,
    with_ranks_interleaved,
    with_times_shifted,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from attribution_blueprint.case_files import Evidence
    from attribution_lib.verdict import Verdict

CHANGES: dict[str, Callable[[Evidence], Evidence]] = {
    "20,000 benign lines mixed in": lambda evidence: with_noise(evidence, 1, record_gaps),
    "ranks interleaved": with_ranks_interleaved,
    "hosts renamed": with_hosts_renamed,
    "all times shifted": with_times_shifted,
    "every line doubled": with_lines_doubled,
    "streams cut and shuffled": lambda evidence: in_pieces(evidence, 2, record_gaps),
}


def summary(verdict: Verdict) -> tuple[str, str | None, list[str]]:
    root = verdict.root_cause.symptom if verdict.root_cause else None
    nodes = [re.sub(r"^gpu-", "node-", row.node) for row in verdict.bad_nodes]
    return sub_domain_of(verdict.outcome).value, root, nodes


@pytest.mark.parametrize("change", sorted(CHANGES))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_survives(case: Path, change: str) -> None:
    assert summary(attribute(CHANGES[change](evidence_of(case)))) == summary(verdict_of(case))
