"""Fleets on a state machine, from the command line: started once, followed by execution and by record."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from click.testing import CliRunner
from moto import mock_aws

from attribution_blueprint.errors import DeploymentError
from attribution_blueprint.executions import StateMachine, execution_arn
from attribution_cli.main import main
from attribution_service.run_rows import RunRows
from service_kit import local_folder_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITION = '{"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": true}}}'


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("stepfunctions")


@pytest.fixture
def machine(client: Any) -> str:
    """The ARN of a state machine; executions of it go on until they are stopped."""
    role = "arn:aws:iam::123456789012:role/fleet"
    found: str = client.create_state_machine(name="fleet", definition=DEFINITION, roleArn=role)["stateMachineArn"]
    return found


def command(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["fleet", *map(str, arguments)], catch_exceptions=False)


def test_a_fleet_is_started_under_the_name_of_its_run(client: Any, machine: str) -> None:
    query = ("--query", "since=1h", "--query", 'ids=["1","2"]', "--query", "limit=5")
    arguments = ("--state-machine", machine, "--adapter", "slurm", *query, "--run-id", "night-1", "--again", "--json")
    started = command("start", *arguments)
    assert started.exit_code == 0
    told = json.loads(started.stdout)
    assert told == {"run_id": "night-1", "execution": execution_arn(machine, "night-1")}
    given = json.loads(client.describe_execution(executionArn=told["execution"])["input"])
    assert given == {
        "adapter": "slurm",
        "query": {"since": "1h", "ids": ["1", "2"], "limit": 5},
        "again": True,
        "run_id": "night-1",
    }
    assert command("start", *arguments).exit_code == 0
    assert len(client.list_executions(stateMachineArn=machine)["executions"]) == 1


def test_a_fleet_is_waited_for_with_growing_pauses(client: Any, machine: str) -> None:
    execution = StateMachine(machine).start("r1", {"adapter": "slurm"})
    pauses: list[float] = []

    def stop_in_time(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            client.stop_execution(executionArn=execution.arn)

    over = StateMachine(machine, sleep=stop_in_time).wait("r1")
    assert over is not None
    assert (over.status, pauses) == ("ABORTED", [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])


def test_whoever_waits_is_told_how_it_ended(client: Any, machine: str) -> None:
    arguments = ("--state-machine", machine, "--adapter", "slurm", "--run-id", "r1", "--wait", "--json")

    def stop_once_started() -> None:
        for _ in range(600):
            if client.list_executions(stateMachineArn=machine)["executions"]:
                break
            time.sleep(0.05)
        client.stop_execution(executionArn=execution_arn(machine, "r1"))

    threading.Thread(target=stop_once_started).start()
    waited = command("start", *arguments)
    assert (waited.exit_code, json.loads(waited.stdout)["status"]) == (1, "ABORTED")


def test_the_name_of_another_run_is_refused(machine: str) -> None:
    StateMachine(machine).start("r1", {"adapter": "slurm"})
    refused = command("start", "--state-machine", machine, "--adapter", "kueue", "--run-id", "r1")
    assert refused.exit_code == 2
    assert "ExecutionAlreadyExists" in refused.stderr


def test_status_asks_for_the_execution_where_there_is_no_record_yet(client: Any, machine: str, folder: Path) -> None:
    where = ("--data", folder, "--state-machine", machine)
    execution = StateMachine(machine).start("r1", {"adapter": "slurm"})
    going = command("status", "r1", *where)
    assert (going.exit_code, going.stdout) == (3, "r1: RUNNING\n")
    client.stop_execution(executionArn=execution.arn)
    over = command("status", "r1", *where, "--json")
    assert (over.exit_code, json.loads(over.stdout)["status"]) == (1, "ABORTED")
    unknown = command("status", "r2", *where)
    assert (unknown.exit_code, unknown.stderr) == (2, "there is no run 'r2'\n")


def test_a_run_whose_execution_died_is_not_said_to_go_on(client: Any, machine: str, folder: Path) -> None:
    execution = StateMachine(machine).start("r1", {"adapter": "slurm"})
    with local_folder_store(folder) as store:
        RunRows.of(store, lambda: 1_780_000_000.0).begin("r1", runner="r1")
    where = ("--data", folder, "--state-machine", machine)
    assert command("status", "r1", *where).exit_code == 3
    client.stop_execution(executionArn=execution.arn)
    dead = command("status", "r1", *where)
    assert dead.exit_code == 1
    assert "execution ABORTED" in dead.stdout


def test_what_step_functions_refuses_is_said_with_its_reason(client: Any) -> None:  # noqa: ARG001 -- no real account
    gone = "arn:aws:states:us-east-1:123456789012:stateMachine:gone"
    with pytest.raises(DeploymentError, match=r"stateMachine:gone: not started: .*StateMachineDoesNotExist"):
        StateMachine(gone).start("r1", {})
    refused = command("start", "--state-machine", gone, "--adapter", "slurm")
    assert refused.exit_code == 2
    assert "not started" in refused.stderr
