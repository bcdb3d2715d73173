"""A requeued job's output is appended to what its earlier attempts left in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import Outcome
from engine_kit import applog, engine_of, verdict_of

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

RULES = r"""
[[extractor]]
name = "StopOfJob"
match_re = 'CANCELLED (?:DUE TO REQUEUE|ON REQUEST)'
emit = { type = "stop", symptom = "Stopped by user" }
[[extractor]]
name = "LostNode"
match_re = 'CANCELLED DUE TO NODE FAILURE'
emit = { type = "bad_node", symptom = "Driver hung", payload = { ends_attempt = "yes" } }
[[extractor]]
name = "Step"
match_re = 'step (?P<at>\d+)'
fold = "last"
emit = { type = "info", payload = { kind = "progress", at = "{at}" } }
"""
WINDOW = {"start": "2026-06-01T03:00:00Z", "end": "2026-06-01T04:00:00Z", "nodes": ["n1"]}
REQUEUED = "2026-06-01T02:50:00Z CANCELLED DUE TO REQUEUE"
NODE_LOST = "2026-06-01T02:50:00Z CANCELLED DUE TO NODE FAILURE"
STEP = "2026-06-01T03:10:00Z step 12"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"), RULES)


@pytest.mark.parametrize("stopped", [REQUEUED, NODE_LOST])
def test_what_stands_above_the_end_of_an_earlier_attempt_is_not_this_ones_failure(
    engine: RuleEngine, stopped: str
) -> None:
    verdict = verdict_of(engine, applog("PART BROKE", stopped, STEP, "CODE RAISED"), **WINDOW)
    assert verdict.outcome is Outcome.APPLICATION_ERROR
    assert verdict.bad_nodes == []
    assert verdict.evidence.outside_window == 2


def test_a_timed_line_above_that_end_is_left_out_even_within_the_margin(engine: RuleEngine) -> None:
    lines = ("2026-06-01T02:49:58Z PART BROKE", REQUEUED, STEP, "CODE RAISED")
    assert verdict_of(engine, applog(*lines), **WINDOW).outcome is Outcome.APPLICATION_ERROR


def test_a_failure_that_both_attempts_had_stands_where_this_one_had_it(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("CODE RAISED", REQUEUED, STEP, "CODE RAISED again"), **WINDOW)
    assert verdict.root_cause is not None
    assert (verdict.root_cause.line_num, verdict.root_cause.evidence) == (4, "CODE RAISED again")


def test_an_attempts_own_stop_line_ends_no_earlier_attempt(engine: RuleEngine) -> None:
    stopped = "2026-06-01T03:30:00Z CANCELLED DUE TO REQUEUE"
    assert verdict_of(engine, applog("PART BROKE", STEP, stopped), **WINDOW).outcome is Outcome.GPU_HARDWARE


def test_a_file_whose_clock_is_hours_off_has_no_earlier_attempt(engine: RuleEngine) -> None:
    """Where nothing below the stop is of the job's time, the stop may be its own, on a clock in another zone."""
    lines = ("PART BROKE", "2026-05-31T20:20:00Z step 12", "2026-05-31T20:30:00Z CANCELLED ON REQUEST", "TASK EXITED")
    assert verdict_of(engine, applog(*lines), **WINDOW).outcome is Outcome.GPU_HARDWARE


def test_other_files_are_not_cut(engine: RuleEngine) -> None:
    first, second = applog(REQUEUED, STEP, stream="a.log"), applog("PART BROKE", stream="b.log")
    assert verdict_of(engine, first, second, **WINDOW).outcome is Outcome.GPU_HARDWARE
