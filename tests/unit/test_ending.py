"""Step 0: completed, cancelled, preempted, out of time; and when an independent fault beats the ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.taxonomy import Outcome, TerminalState, terminal_state_of
from engine_kit import applog, engine_of, verdict_of

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

CANCELLED = {
    "execution_cancellation": {"record_id": "4711", "cancelled_by": "alice", "time": "2026-06-01T03:10:00Z"},
    "user": "alice",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"))


def test_completed_is_success_however_alarming_the_lines(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("PART BROKE", "ALL DONE", node="n1"), state="COMPLETED")
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.root_cause is not None
    assert verdict.root_cause.evidence == "ALL DONE"
    assert verdict.bad_nodes == []


def test_completed_without_a_line_needs_no_root(engine: RuleEngine) -> None:
    assert verdict_of(engine, state="COMPLETED").root_cause is None


def test_a_stop_line_beats_a_raw_failed(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("working", "OUT OF TIME", "INTERRUPTED"))
    assert verdict.outcome is Outcome.TIME_LIMIT
    assert terminal_state_of(verdict.outcome, failed=verdict.failed) is TerminalState.TIMEOUT
    assert verdict.root_cause is not None
    assert verdict.root_cause.line_num == 2


def test_a_fault_before_the_stop_in_the_same_stream_is_the_root(engine: RuleEngine) -> None:
    assert verdict_of(engine, applog("CODE RAISED", "STOPPED BY USER")).outcome is Outcome.APPLICATION_ERROR


def test_what_comes_after_the_stop_is_teardown(engine: RuleEngine) -> None:
    assert verdict_of(engine, applog("STOPPED BY USER", "CODE RAISED")).outcome is Outcome.USER_CANCELLED


@pytest.mark.parametrize(
    ("line", "outcome"), [("CODE RAISED", Outcome.APPLICATION_ERROR), ("INTERRUPTED", Outcome.TIME_LIMIT)]
)
def test_where_nothing_can_be_compared_only_teardown_symptoms_yield(
    engine: RuleEngine, line: str, outcome: Outcome
) -> None:
    assert verdict_of(engine, applog(line), state="TIMEOUT").outcome is outcome


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("CANCELLED by 1001", Outcome.USER_CANCELLED),
        ("PREEMPTED", Outcome.PREEMPTED),
        ("TIMEOUT", Outcome.TIME_LIMIT),
    ],
)
def test_the_state_alone_names_the_ending(engine: RuleEngine, state: str, outcome: Outcome) -> None:
    verdict = verdict_of(engine, state=state)
    assert verdict.outcome is outcome
    assert verdict.root_cause is not None
    assert verdict.root_cause.source == "scheduler"


def test_a_state_that_says_more_lends_its_outcome_to_a_bare_cancellation_line(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("STOPPED BY USER"), state="TIMEOUT")
    assert verdict.outcome is Outcome.TIME_LIMIT
    assert verdict.root_cause is not None
    assert verdict.root_cause.evidence == "STOPPED BY USER"


def test_a_supplied_cancellation_beats_completed(engine: RuleEngine) -> None:
    assert verdict_of(engine, state="COMPLETED", **CANCELLED).outcome is Outcome.USER_CANCELLED


def test_a_cancellation_by_somebody_else_is_an_operators(engine: RuleEngine) -> None:
    fields: dict[str, Any] = {**CANCELLED, "user": "bob"}
    assert verdict_of(engine, state="CANCELLED", **fields).outcome is Outcome.OPERATOR_CANCELLED


def test_an_independent_fault_before_a_supplied_cancellation_wins(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("2026-06-01T03:00:00Z CODE RAISED"), state="CANCELLED", **CANCELLED)
    assert verdict.outcome is Outcome.APPLICATION_ERROR


def test_a_fault_after_a_supplied_cancellation_does_not(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("2026-06-01T03:30:00Z CODE RAISED"), state="CANCELLED", **CANCELLED)
    assert verdict.outcome is Outcome.USER_CANCELLED


def test_node_fail_is_an_ordinary_contender_on_the_failed_node(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, state="NODE_FAIL", failed_node="n2")
    assert verdict.outcome is Outcome.NODE_DOWN
    assert [row.node for row in verdict.bad_nodes] == ["n2"]


@pytest.mark.parametrize(("own", "outcome"), [(None, Outcome.USER_CANCELLED), ("n1", Outcome.NODE_DOWN)])
def test_an_inherited_node_failure_is_not_the_records_unless_it_names_another_node_of_its_own(
    engine: RuleEngine, own: str | None, outcome: Outcome
) -> None:
    failure = {
        "allocation_id": "9",
        "state": "NODE_FAIL",
        "failed_node": "n77",
        "source": "sacct",
        "time": "2026-06-01T03:11:00Z",
    }
    fields: dict[str, Any] = {**CANCELLED, "allocation_failure": failure}
    if own is not None:
        fields["failed_node"] = own
    assert verdict_of(engine, state="NODE_FAIL", **fields).outcome is outcome


def test_no_state_and_no_evidence_is_unknown_all_the_way(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, state="")
    assert terminal_state_of(verdict.outcome, failed=verdict.failed) is TerminalState.UNKNOWN
    assert verdict.root_cause is None


def test_a_state_of_no_table_is_a_diagnostic(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, state="EXPLODED", exit_code="1:0")
    assert [finding.rule for finding in verdict.diagnostics] == ["job.state"]
    assert verdict.failed
