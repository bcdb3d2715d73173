"""One table for the states of every scheduler."""

from __future__ import annotations

import pytest

from attribution_lib.job.model import StateClass
from attribution_lib.job.states import NamedFault, cancelling_user, named_fault, parse_exit_code, read_state


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("COMPLETED", "completed"),
        ("FAILED", "failed"),
        ("EXIT", "failed"),  # LSF's two
        ("DONE", "completed"),
        ("ErrImageNeverPull", "failed"),
        ("InvalidImageName", "failed"),
        ("CreateContainerError", "failed"),
        ("SchedulerError", "running"),
        ("NODE_FAIL", "node_fail"),
        ("BOOT_FAIL", "failed"),
        ("OUT_OF_MEMORY", "failed"),
        ("TIMEOUT", "timeout"),
        ("DEADLINE", "timeout"),
        ("PREEMPTED", "preempted"),
        ("CANCELLED", "cancelled"),
        ("CANCELLED by 1234", "cancelled"),
        ("REQUEUED", "unknown"),
        ("REVOKED", "unknown"),
        ("SUSPENDED", "running"),
        ("RUNNING", "running"),
        ("COMPLETING", "running"),
        ("NF", "node_fail"),
        ("Succeeded", "completed"),
        ("SUCCEEDED", "completed"),
        ("Failed", "failed"),
        ("Unknown", "unknown"),
        ("Evicted", "preempted"),
        ("Preempted", "preempted"),
        ("Finished", "unknown"),
        ("DisruptionTarget/PreemptionByScheduler", "preempted"),
        ("NodeLost", "node_fail"),
        ("BackoffLimitExceeded", "failed"),
        ("RUNNABLE", "running"),
        ("InProgress", "running"),
        ("Stopped", "cancelled"),
        ("MaxRuntimeExceeded", "timeout"),
    ],
)
def test_every_scheduler_s_words_have_one_class_whatever_their_case(state: str, expected: str) -> None:
    for spelling in (state, state.lower(), state.upper(), f" {state} "):
        reading = read_state(spelling)
        assert (reading.state_class, reading.listed) == (StateClass(expected), True), spelling


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("OUT_OF_ME+", StateClass.FAILED),
        ("CANCELLED+", StateClass.CANCELLED),
        ("NODE_FAIL+", StateClass.NODE_FAIL),
        ("COMPLETING,FAILED", StateClass.FAILED),
        ("TIMEOUT,REQUEUED", StateClass.TIMEOUT),
    ],
)
def test_cut_and_combined_spellings_are_understood(state: str, expected: StateClass) -> None:
    assert read_state(state).state_class is expected


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("Evicted", "NodeFailures", StateClass.NODE_FAIL),
        ("Evicted", "PodsReadyTimeout", StateClass.FAILED),
        ("Evicted", "Deactivated", StateClass.CANCELLED),
        ("Finished", "Succeeded", StateClass.COMPLETED),
        ("Failed", "DeadlineExceeded", StateClass.TIMEOUT),
        ("Failed", "Evicted", StateClass.FAILED),
        ("Failed", "OOMKilled", StateClass.FAILED),
        ("FAILED", "TimeLimit", StateClass.FAILED),
        ("COMPLETED", "NodeFailures", StateClass.COMPLETED),
    ],
)
def test_a_reason_decides_only_where_the_state_leaves_it_open(state: str, reason: str, expected: StateClass) -> None:
    assert read_state(state, reason=reason).state_class is expected


@pytest.mark.parametrize(
    ("state", "exit_code", "expected", "listed"),
    [
        ("", "", StateClass.UNKNOWN, True),
        ("", "0:0", StateClass.UNKNOWN, True),
        ("", "1:0", StateClass.FAILED, True),
        ("", "0:9", StateClass.FAILED, True),
        ("QUANTUM", "", StateClass.UNKNOWN, False),
        ("QUANTUM", "-6", StateClass.FAILED, False),
        ("COMPLETED", "1:0", StateClass.COMPLETED, True),
        ("RUNNING", "1:0", StateClass.RUNNING, True),
    ],
)
def test_without_a_known_state_a_non_zero_exit_code_says_failed(
    state: str, exit_code: str, expected: StateClass, *, listed: bool
) -> None:
    reading = read_state(state, exit_code=exit_code)
    assert (reading.state_class, reading.listed) == (expected, listed)


@pytest.mark.parametrize(
    ("text", "code", "signal"),
    [
        ("0:0", 0, 0),
        ("1:0", 1, 0),
        ("0:9", 0, 9),
        ("137:0", 137, 9),
        ("137", 137, 9),
        ("-6:0", -6, 6),
        ("0:125", 0, 125),
        ("198:0", 198, 0),
        ("271:0", 271, 0),
        ("3221225477", 3221225477, 0),
    ],
)
def test_exit_codes_of_shells_and_python_name_their_signal(text: str, code: int, signal: int) -> None:
    status = parse_exit_code(text)
    assert status is not None
    assert (status.code, status.signal, status.failed) == (code, signal, (code, signal) != (0, 0))


def test_what_is_no_exit_code_is_none() -> None:
    assert parse_exit_code("killed") is None
    assert parse_exit_code("") is None


def test_the_user_who_cancelled_is_read_from_the_state() -> None:
    assert cancelling_user("CANCELLED by 0") == "0"
    assert cancelling_user("CANCELLED") == ""


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("OUT_OF_MEMORY", "", NamedFault.MEMORY),
        ("OUT_OF_ME+", "", NamedFault.MEMORY),
        ("COMPLETING,OUT_OF_MEMORY", "", NamedFault.MEMORY),
        ("Failed", "OOMKilled", NamedFault.MEMORY),
        ("BOOT_FAIL", "", NamedFault.BOOT),
        ("FAILED", "NonZeroExitCode", None),
        ("", "", None),
    ],
)
def test_some_failed_states_name_what_failed(state: str, reason: str, expected: NamedFault | None) -> None:
    assert named_fault(state, reason=reason) is expected


def test_a_finished_workload_is_completed_when_its_exit_code_is_zero() -> None:
    assert read_state("Finished", exit_code="0:0").state_class is StateClass.COMPLETED
    assert read_state("Finished", exit_code="1:0").state_class is StateClass.FAILED
    assert read_state("Finished").state_class is StateClass.UNKNOWN
    assert read_state("REQUEUED", exit_code="0:0").state_class is StateClass.UNKNOWN
