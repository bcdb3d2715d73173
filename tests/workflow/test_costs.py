"""The costs that the guide to workflows states, and those that a summary shows, are counted from the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attribution_service.costs import CONTEXT, FLEET, KNOWN_CONTEXT, OBSERVATION, estimate
from attribution_service.run_records import IN_PROCESS, RunRecord, RunTotals

ROOT = Path(__file__).parents[2]


def test_the_tables_and_the_estimate_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "workflow_cost.py"), "--check", str(ROOT / "docs/workflows.md")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own script
    assert done.returncode == 0, done.stderr


def test_a_run_costs_what_its_contexts_and_observations_cost() -> None:
    record = RunRecord(run_id="r", started_at="2026-06-01T00:00:00Z", runner="execution-1")
    totals = RunTotals(contexts=10, attributed=6, found=2, conflicted=1, failed=1, pending=2, observations=50)
    expected = FLEET + 5 * CONTEXT + 3 * KNOWN_CONTEXT + 50 * OBSERVATION
    assert estimate(record, totals) == pytest.approx(expected)


def test_a_run_in_one_process_asks_aws_for_nothing() -> None:
    record = RunRecord(run_id="r", started_at="2026-06-01T00:00:00Z", runner=IN_PROCESS)
    assert estimate(record, RunTotals(contexts=10, attributed=10, observations=50)) == 0
