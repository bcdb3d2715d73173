"""Every case beside the state machines: unchanged definitions, real functions, faults; and no branch without one."""

from __future__ import annotations

import os
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from asl_kit import BUCKET, MACHINES, Fault, Interpreter, branches, definition, interpreter
from attribution_blueprint.discovery import discover
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.workflow.documents import dump_context
from attribution_service.errors import NotFoundError
from attribution_service.model import SessionQuery, VerdictQuery
from attribution_service.run_rows import RunRows
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions
from attribution_service.settings import Settings
from attribution_service.verdicts import query_verdicts
from attribution_service.workflow.sessions import OpenTask, open_task
from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asl_kit import Ended, Trace

CASES: dict[str, list[dict[str, Any]]] = {
    name: tomllib.loads((MACHINES / f"{name}.cases.toml").read_text())["case"] for name in ("job", "fleet")
}
EVERY = [pytest.param(name, case, id=case["name"]) for name, cases in CASES.items() for case in cases]
SITE = {"ATTRIBUTION_CONFIG": f"s3://{BUCKET}/config/site.toml", "ATTRIBUTION_BUCKET": BUCKET}
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
TRANSIENT = [
    "Lambda.TooManyRequestsException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException",
]
"""What Step Functions says when it did not get through to a function."""
SECOND_COLLECTOR = '[log.sys.file]\nsource = "syslog"\n'


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to."""

    ended: Ended
    trace: Trace
    left: list[str]
    """Sessions that are still open."""
    collected: list[str]
    """Objects of evidence that are still there."""
    verdicts: int
    errors: list[str]
    """Of the run's record."""


@cache
def outcome(machine: str, name: str) -> Outcome:
    """Run one case; each runs once, whoever asks."""
    case = next(one for one in CASES[machine] if one["name"] == name)
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, SITE | KEYS):
        file = configuration_file(Path(folder), write_jobs(Path(folder), 2), SECOND_COLLECTOR)
        with interpreter(Settings(**case.get("settings", {}))) as made:
            made.put("config/site.toml", file.read_bytes())
            context = discover(read_configuration(file, {})).contexts[0]
            made.put("jobs/1000.json", dump_context(context))
            for what in case.get("before", ()):
                _prepare(made, what)
            made.trace.states.clear()
            made.trace.branches.clear()
            made.trace.invocations.clear()
            made.faults += [Fault(**fault) for fault in case.get("faults", ())]
            return _looked_at(made, made.start(machine, case["input"]), str(case["input"].get("run_id", "")))


def _prepare(made: Interpreter, what: str) -> None:
    if what == "session":
        open_task(made.host.service, OpenTask(job_ref="jobs/1000.json", opened_by="somebody else"))
    else:
        assert what == "verdict"
        assert made.start("job", {"job_ref": "jobs/1000.json"}).output["status"] == "attributed"


def _looked_at(made: Interpreter, ended: Ended, run_id: str) -> Outcome:
    service = made.host.service
    sessions = list_sessions(service, EVERYTHING, SessionQuery()).sessions
    try:
        errors = RunRows.of(service.store, service.clock).record(run_id).errors
    except NotFoundError:
        errors = []
    return Outcome(
        ended,
        made.trace,
        [view.attributor_id for view in sessions],
        [info.key for info in service.store.objects.list("collected/")],
        len(query_verdicts(service, EVERYTHING, VerdictQuery()).verdicts),
        errors,
    )


@pytest.mark.parametrize(("machine", "case"), EVERY)
def test_a_case_ends_as_it_says(machine: str, case: dict[str, Any]) -> None:
    found = outcome(machine, case["name"])
    assert found.ended.status == case.get("status", "SUCCEEDED")
    output = found.ended.output or {}
    assert {name: output.get(name) for name in case.get("output", {})} == case.get("output", {})
    assert found.left == case.get("left", [])
    assert bool(found.verdicts) or not case.get("verdict", False)
    assert found.errors == case.get("errors", found.errors)


@pytest.mark.parametrize(("machine", "case"), EVERY)
def test_a_case_visits_the_states_that_it_names(machine: str, case: dict[str, Any]) -> None:
    trace = outcome(machine, case["name"]).trace
    at = iter(trace.states)
    assert [state for state in case["visits"] if state not in at] == [], trace.states
    assert not set(case.get("never", ())) & set(trace.states)
    calls = case.get("calls", {})
    assert {task: trace.invocations[task] for task in calls} == calls


@pytest.mark.parametrize(("machine", "case"), EVERY)
def test_no_case_leaves_evidence_behind_unless_cleaning_up_failed(machine: str, case: dict[str, Any]) -> None:
    cleanup_fails = any(
        fault.get("task") == "cleanup" and fault.get("times", 1) > 1 for fault in case.get("faults", ())
    )
    assert not outcome(machine, case["name"]).collected or cleanup_fails


@pytest.mark.parametrize("machine", sorted(CASES))
def test_every_choice_retry_and_catch_is_taken_by_some_case(machine: str) -> None:
    taken = set().union(*(outcome(machine, case["name"]).trace.branches for case in CASES[machine]))
    assert set(branches(definition(machine))) - taken == set()


# ---- by the graph alone


JOB = definition("job")["States"]


def _after(state: Mapping[str, Any]) -> Iterator[str]:
    """Every state that may follow."""
    for part in (state, *state.get("Choices", ()), *state.get("Catch", ())):
        if "Next" in part:
            yield part["Next"]
    if "Default" in state:
        yield state["Default"]


def _reached(start: str, without: str) -> set[str]:
    """States that are reached from one without passing another."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name == without or name in found:
            continue
        found.add(name)
        waiting += _after(JOB[name])
    return found


@pytest.mark.parametrize("machine", sorted(CASES))
def test_every_transition_leads_to_a_state_and_every_state_is_reached(machine: str) -> None:
    for states, start in _scopes(definition(machine)):
        targets = {start, *(target for state in states.values() for target in _after(state))}
        assert targets == set(states)


def _scopes(machine: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """States and start of a machine and of each map within."""
    yield machine["States"], machine["StartAt"]
    for state in machine["States"].values():
        if "ItemProcessor" in state:
            yield from _scopes(state["ItemProcessor"])


def _catches_everything(state: Mapping[str, Any]) -> bool:
    return any(catcher["ErrorEquals"] == ["States.ALL"] for catcher in state.get("Catch", ()))


def test_once_a_session_is_open_every_way_to_an_end_passes_the_cleanup() -> None:
    assert _reached("Collect", without="Cleanup") & {"Record", "NotRecorded"} == set()


@pytest.mark.parametrize("name", [name for name, state in JOB.items() if state["Type"] in ("Task", "Map")])
def test_every_failure_that_can_be_caught_is_caught_and_leads_to_the_cleanup(name: str) -> None:
    state = JOB[name]
    if name in ("Cleanup", "Record"):
        assert _catches_everything(state)
    elif state["Type"] == "Task" or _catches_everything(state):
        assert [catcher["Next"] for catcher in state["Catch"]] == ["Cleanup"]
    else:
        inner = state["ItemProcessor"]["States"].values()
        assert all(one["Type"] == "Pass" or _catches_everything(one) for one in inner)


@pytest.mark.parametrize("machine", sorted(CASES))
def test_every_task_is_tried_again_with_growing_and_scattered_pauses(machine: str) -> None:
    for name, state in _tasks(definition(machine)):
        last = state["Retry"][-1]
        assert (last["BackoffRate"], last["JitterStrategy"], last["MaxAttempts"] > 1) == (2.0, "FULL", True), name
        assert _catches_everything(state), name
        assert state["TimeoutSeconds"] <= 18_000, name


@pytest.mark.parametrize("machine", sorted(CASES))
def test_every_function_that_is_throttled_or_not_reached_is_waited_for_longer_than_one_that_fails(machine: str) -> None:
    """The function has not run, so patience costs nothing, and giving up would cost evidence."""
    functions = [one for one in _tasks(definition(machine)) if one[1]["Resource"].endswith("Function}")]
    assert functions
    for name, state in functions:
        (before,) = (one for one in state["Retry"] if "Lambda.TooManyRequestsException" in one["ErrorEquals"])
        assert before["ErrorEquals"] == TRANSIENT, name
        assert before["MaxAttempts"] > state["Retry"][-1]["MaxAttempts"], name
        assert before["JitterStrategy"] == "FULL", name


def _tasks(machine: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, state in machine["States"].items():
        if state["Type"] == "Task":
            yield name, state
        if "ItemProcessor" in state:
            yield from _tasks(state["ItemProcessor"])
