"""The decision: contenders, margins, the path and what is said when nothing decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import Confidence, Outcome
from engine_kit import applog, engine_of, syslog, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"))


def test_a_single_contender_wins_with_high_confidence_and_names_its_line(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("starting", "[rank0]: CODE RAISED", "bye"))
    assert (verdict.outcome, verdict.confidence) == (Outcome.APPLICATION_ERROR, Confidence.HIGH)
    root = verdict.root_cause
    assert root is not None
    assert (root.source, root.stream, root.line_num, root.rank) == ("applog", "applog.log", 2, 0)
    assert root.evidence == "[rank0]: CODE RAISED"
    assert (root.context.before, root.context.after) == (["starting"], ["bye"])
    assert root.rule_location.startswith("rules")


def test_an_application_error_makes_no_node_bad(engine: RuleEngine) -> None:
    assert verdict_of(engine, applog("CODE RAISED", node="n1")).bad_nodes == []


def test_a_margin_of_a_hundred_ranks_decides_with_medium_confidence(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("CODE RAISED", "PART BROKE", node="n1"))
    assert (verdict.outcome, verdict.confidence) == (Outcome.GPU_HARDWARE, Confidence.MEDIUM)
    assert [row.symptom for row in verdict.alternatives] == ["Code raised"]
    assert [row.node for row in verdict.bad_nodes] == ["n1"]


def test_two_sub_domains_within_the_margin_are_ambiguous(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("DRIVER HUNG", "PART BROKE", node="n1"))
    assert (verdict.outcome, verdict.confidence) == (Outcome.AMBIGUOUS, Confidence.LOW)
    assert [row.symptom for row in verdict.alternatives] == ["Driver hung"]


def test_an_ambiguous_contender_never_reduces_anothers_margin(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("BARE CRASH", "CODE RAISED"))
    assert (verdict.outcome, verdict.confidence) == (Outcome.APPLICATION_ERROR, Confidence.HIGH)


def test_only_consequences_are_a_communication_failure(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("PEER GONE", "TASK EXITED"))
    assert verdict.outcome is Outcome.COMMUNICATION_FAILURE
    assert verdict.root_cause is not None
    assert verdict.root_cause.symptom == "Peer gone"


def test_only_echoes_are_unknown_but_still_shown(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("TASK EXITED"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.root_cause is not None
    assert verdict.root_cause.evidence == "TASK EXITED"


def test_without_evidence_the_scheduler_facts_stand_in_for_a_root(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, exit_code="1:0", reason="NonZeroExitCode")
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.root_cause is not None
    assert (verdict.root_cause.source, verdict.root_cause.line_num) == ("scheduler", None)
    assert verdict.root_cause.evidence == "State=FAILED ExitCode=1:0 Reason=NonZeroExitCode"


def test_undecided_verdicts_ask_for_the_sources_nobody_gave(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("PEER GONE"))
    assert [need.source for need in verdict.needed_evidence] == ["syslog", "scheduler", "node_metrics"]


def test_who_waits_for_a_peer_is_not_the_one_node_to_ask_about(engine: RuleEngine) -> None:
    waiting = applog("PEER GONE", node="n1")
    two, one = (verdict_of(engine, waiting, nodes=nodes).needed_evidence for nodes in (["n1", "n2"], ["n1"]))
    assert [need.node for need in two if need.source == "syslog"] == [None]
    assert [need.node for need in one if need.source == "syslog"] == ["n1"]


def test_what_is_asked_for_is_of_the_time_around_the_root_symptom(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("2026-06-01T03:00:00Z PEER GONE", node="n1"), nodes=["n1"])
    assert {(need.from_, need.to) for need in verdict.needed_evidence} == {
        ("2026-06-01T02:30:00.000000Z", "2026-06-01T03:05:00.000000Z")
    }
    assert {need.node for need in verdict.needed_evidence} == {"n1"}


def test_a_fault_off_the_path_is_an_alternative(engine: RuleEngine) -> None:
    verdict = verdict_of(
        engine,
        applog("2026-06-01T03:00:00Z CODE RAISED", node="n1"),
        syslog("2026-06-01T03:05:00Z n2 kernel: PART BROKE"),
    )
    assert verdict.outcome is Outcome.APPLICATION_ERROR
    assert [row.symptom for row in verdict.alternatives] == ["Part broke"]
    assert "n2" in {row.node for row in verdict.interesting_nodes}


def test_a_fault_on_a_node_that_a_communication_symptom_names_is_on_the_path(engine: RuleEngine) -> None:
    verdict = verdict_of(
        engine,
        applog("2026-06-01T03:00:00Z PEER GONE peer=n2", "2026-06-01T03:00:01Z CODE RAISED", node="n1"),
        syslog("2026-06-01T03:05:00Z n2 kernel: PART BROKE"),
    )
    assert verdict.outcome is Outcome.GPU_HARDWARE
    assert [row.node for row in verdict.bad_nodes] == ["n2"]


def test_a_fault_elsewhere_still_wins_over_mere_consequences(engine: RuleEngine) -> None:
    verdict = verdict_of(
        engine,
        applog("2026-06-01T03:00:00Z PEER GONE", node="n1"),
        syslog("2026-06-01T03:05:00Z n2 kernel: PART BROKE"),
    )
    assert verdict.outcome is Outcome.GPU_HARDWARE


def test_nodes_outside_the_job_never_become_bad(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, syslog("2026-06-01T03:05:00Z n9 kernel: PART BROKE"))
    assert verdict.bad_nodes == []
    assert verdict.outcome is Outcome.UNKNOWN


def test_of_equal_ranks_the_first_in_time_wins(engine: RuleEngine, tmp_path: Path) -> None:
    engine = engine_of(
        tmp_path,
        '[[symptom]]\nname = "Other raised"\noutcome = "data_error"\nrank = 700\nscope = "job"\ndocs = "x"\n'
        "[[extractor]]\nname = 'Other'\nmatch_re = 'OTHER RAISED'\n"
        "emit = { type = 'bad_node', symptom = 'Other raised' }\n",
    )
    verdict = verdict_of(
        engine, applog("2026-06-01T03:00:05Z CODE RAISED", "2026-06-01T03:00:01Z OTHER RAISED", stream="b")
    )
    assert verdict.outcome is Outcome.DATA_ERROR


ANY_ORDER = """
from attribution_lib.rule_api import cascade
cascade("PartExplainsAll", author="t", docs="Whatever is complained about is the part's doing.",
        causes=["Part broke"], consequences=["Code raised", "Bare crash", "Slurm node failure"], scope="job",
        order="any")
"""


@pytest.mark.parametrize(
    ("cleared", "confidence", "reason"),
    [
        ("CODE RAISED", Confidence.MEDIUM, "Code raised was set aside, which its time and place do not prove"),
        ("2026-06-01T03:00:01Z CODE RAISED", Confidence.HIGH, ""),
        ("BARE CRASH", Confidence.HIGH, ""),
    ],
    ids=["another owner, no time", "another owner, in time", "no owner, no time"],
)
def test_only_what_another_owner_might_have_won_makes_a_verdict_less_sure(
    tmp_path: Path, cleared: str, confidence: Confidence, reason: str
) -> None:
    engine = engine_of(tmp_path, python=ANY_ORDER)
    broke = syslog("2026-06-01T03:00:00Z n1 kernel: PART BROKE")
    verdict = verdict_of(engine, broke, applog(cleared))
    assert (verdict.outcome, verdict.confidence) == (Outcome.GPU_HARDWARE, confidence)
    assert verdict.confidence_reason == reason


def test_a_second_sign_of_the_same_owner_takes_nothing_from_the_first(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, python=ANY_ORDER)
    broke = syslog("2026-06-01T03:00:00Z n1 kernel: PART BROKE")
    verdict = verdict_of(engine, broke, state="NODE_FAIL", failed_node="n1")
    assert (verdict.outcome, verdict.confidence) == (Outcome.GPU_HARDWARE, Confidence.HIGH)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("CODE RAISED", "PART BROKE"), "Code raised fits too, though it says less"),
        (("DRIVER HUNG", "PART BROKE"), "Driver hung fits about as well, and its owner is another"),
        (("BARE CRASH",), "the root evidence leaves open whose problem it is"),
        (("PEER GONE",), "only consequences of the failure were seen, no cause"),
        (("TASK EXITED",), "nothing that was read names a cause"),
        (("PART BROKE",), ""),
    ],
)
def test_a_verdict_that_is_not_sure_says_why(engine: RuleEngine, lines: tuple[str, ...], reason: str) -> None:
    assert verdict_of(engine, applog(*lines, node="n1")).confidence_reason == reason


LESS_SURE = '''
from attribution_lib.rule_api import Confidence, RefinerPriority, refiner_def

@refiner_def("Doubt", author="t", priority=RefinerPriority.POST_OUTCOME)
def doubt(context):
    """Says that a log is missing."""
    context.choice.lower(Confidence.MEDIUM, "the node's log was not read")
    context.choice.wanted.append("syslog")
'''


def test_a_rule_that_doubts_says_why_and_what_it_misses(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, python=LESS_SURE)
    verdict = verdict_of(engine, applog("CODE RAISED"))
    assert (verdict.confidence, verdict.confidence_reason) == (Confidence.MEDIUM, "the node's log was not read")
    assert [need.source for need in verdict.needed_evidence] == ["syslog"]
    assert verdict_of(engine, applog("CODE RAISED"), syslog("quiet")).needed_evidence == []


def test_a_rule_never_makes_a_verdict_surer(tmp_path: Path) -> None:
    verdict = verdict_of(engine_of(tmp_path, python=LESS_SURE), applog("BARE CRASH"))
    assert (verdict.confidence, verdict.confidence_reason[:8]) == (Confidence.LOW, "the root")
