"""Events that follow from the job record itself."""

from __future__ import annotations

from typing import Any

import pytest

from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.job.facts import (
    CANCELLED_BY_OPERATOR,
    CANCELLED_BY_USER,
    NODE_FAILURE,
    STATE_SYMPTOMS,
    inherited_node_failure,
    scheduler_facts,
)
from attribution_lib.job.model import JobInfo, StateClass

_TIME = "2026-06-01T03:14:02Z"


def job(**fields: Any) -> JobInfo:
    return JobInfoBuilder(**{"job_id": "4711", "user": "user1", **fields}).build()


def symptoms(**fields: Any) -> list[str | None]:
    return [event.symptom for event in scheduler_facts(job(**fields))]


def test_a_job_that_says_nothing_has_no_facts() -> None:
    assert scheduler_facts(job()) == []


def test_the_evidence_reads_as_scontrol_prints_it() -> None:
    (fact,) = scheduler_facts(job(state="FAILED", exit_code="1:0", reason="NonZeroExitCode"))
    assert fact.datum == "State=FAILED ExitCode=1:0 Reason=NonZeroExitCode"
    assert (fact.source, fact.stream, fact.line_num, fact.timestamp) == ("scheduler", "", None, None)
    assert fact.event_type == "Attribution.scheduler.state"


def test_no_time_is_made_from_start_or_end() -> None:
    facts = scheduler_facts(job(state="TIMEOUT", start=_TIME, end=_TIME))
    assert [fact.timestamp for fact in facts] == [None, None]


def test_a_node_failure_is_a_bad_node_on_the_failed_node() -> None:
    facts = scheduler_facts(job(state="NODE_FAIL", failed_node="node-0002", nodes=["node-0001", "node-0002"]))
    assert [(fact.symptom, fact.event_type.value, fact.node) for fact in facts] == [  # type: ignore[attr-defined]  # an EventType
        (STATE_SYMPTOMS[StateClass.NODE_FAIL], "Attribution.scheduler.state", "node-0002"),
        (NODE_FAILURE, "Attribution.node.bad", "node-0002"),
    ]


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"state": "PREEMPTED"}, STATE_SYMPTOMS[StateClass.PREEMPTED]),
        ({"state": "TIMEOUT"}, STATE_SYMPTOMS[StateClass.TIMEOUT]),
        ({"state": "CANCELLED"}, CANCELLED_BY_USER),
        ({"state": "CANCELLED by 1000"}, CANCELLED_BY_USER),
        ({"state": "CANCELLED by 0"}, CANCELLED_BY_OPERATOR),
        ({"state": "CANCELLED by user1"}, CANCELLED_BY_USER),
        ({"state": "CANCELLED by admin"}, CANCELLED_BY_OPERATOR),
        ({"state": "CANCELLED by 1001", "user": "1000"}, CANCELLED_BY_OPERATOR),
    ],
)
def test_an_ordinary_ending_is_a_stop(fields: dict[str, str], stop: str) -> None:
    fact = scheduler_facts(job(**fields))[-1]
    assert (fact.symptom, fact.event_type) == (stop, "Attribution.job.stop")


@pytest.mark.parametrize(("by", "symptom"), [("user1", CANCELLED_BY_USER), ("ops", CANCELLED_BY_OPERATOR)])
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", ""])
def test_an_established_cancellation_stands_whatever_the_state(by: str, symptom: str, state: str) -> None:
    cancellation = {"record_id": "4711", "cancelled_by": by, "time": _TIME}
    stops = [
        fact
        for fact in scheduler_facts(job(state=state, execution_cancellation=cancellation))
        if fact.event_type == "Attribution.job.stop"
    ]
    assert [(stop.symptom, stop.timestamp) for stop in stops] == [(symptom, 1_780_283_642_000_000)]


def _inherited(*, cancelled: bool = True, **fields: Any) -> JobInfo:
    failure = {"allocation_id": "47", "state": "NODE_FAIL", "failed_node": "node-0009", "source": "s", "time": _TIME}
    cancellation = {"record_id": "4711", "cancelled_by": "user1", "time": _TIME} if cancelled else None
    given = {"state": "NODE_FAIL", "nodes": ["node-0001", "node-0002"], "allocation_failure": failure, **fields}
    return job(execution_cancellation=cancellation, **given)


def test_an_allocation_s_node_failure_elsewhere_is_not_the_record_s() -> None:
    assert inherited_node_failure(_inherited())
    assert NODE_FAILURE not in [fact.symptom for fact in scheduler_facts(_inherited())]


@pytest.mark.parametrize(
    "fields",
    [
        {"cancelled": False},
        {"state": "FAILED"},
        {"nodes": ["node-0001", "node-0009"]},
        {"failed_node": "node-0002"},
        {"allocation_failure": None},
        {"nodes": []},
    ],
)
def test_it_stays_the_record_s_own_in_every_other_case(fields: dict[str, Any]) -> None:
    assert not inherited_node_failure(_inherited(**fields))


@pytest.mark.parametrize("failed_node", ["node-0009", "node-0077"])
def test_a_failed_node_outside_the_record_does_not_make_it_its_own(failed_node: str) -> None:
    assert inherited_node_failure(_inherited(failed_node=failed_node))


@pytest.mark.parametrize(
    ("fields", "symptom"),
    [
        ({"state": "OUT_OF_MEMORY", "exit_code": "0:125"}, "Scheduler state OUT_OF_MEMORY"),
        ({"state": "Failed", "reason": "OOMKilled"}, "Scheduler state OUT_OF_MEMORY"),
        ({"state": "BOOT_FAIL"}, "Scheduler state BOOT_FAIL"),
    ],
)
def test_a_failed_state_that_names_its_fault_is_that_fault_on_no_node(fields: dict[str, str], symptom: str) -> None:
    _, fault = scheduler_facts(job(**fields))
    assert (fault.symptom, fault.event_type, fault.node) == (symptom, "Attribution.node.bad", None)
