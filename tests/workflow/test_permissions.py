"""What a workflow's functions ask of S3 and DynamoDB is what their roles allow, down to prefix, table and index."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from asl_kit import BUCKET, ROOT, Fault, Interpreter, definition, interpreter
from attribution_blueprint.deployment import read_template, template_path
from attribution_blueprint.workflow import deployed
from attribution_service.settings import Settings
from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RESOURCES: dict[str, Any] = read_template(template_path())["Resources"]
ACTIONS = {
    "HeadObject": "s3:GetObject",
    "DeleteObjects": "s3:DeleteObject",
    "ListObjectsV2": "s3:ListBucket",
}
TABLES = {"sessions": "Sessions", "verdicts": "Verdicts"}
Call = tuple[str, str]
"""(action, resource as the template names it)."""


def allowed(folder: str) -> set[Call]:
    """What a function's role allows."""
    name = "".join(part.capitalize() for part in folder.split("_"))
    found = set()
    for policy in RESOURCES[f"{name}Role"]["Properties"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            plain = statement.get("Fn::If", [None, statement])[1]
            resources = plain["Resource"] if isinstance(plain["Resource"], list) else [plain["Resource"]]
            for resource in resources:
                text = resource if isinstance(resource, str) else next(iter(resource.values()))
                found |= {(action, str(text).removeprefix("${").replace("}", "")) for action in plain["Action"]}
    return found


def asked(operation: str, parameters: dict[str, Any]) -> Iterator[Call]:
    """The same form for one call of a client."""
    if "TableName" in parameters:
        table, index = TABLES[parameters["TableName"]], parameters.get("IndexName")
        yield f"dynamodb:{operation}", f"{table}.Arn/index/{index}" if index else f"{table}.Arn"
        return
    action = ACTIONS.get(operation, f"s3:{operation}")
    if action == "s3:ListBucket":
        yield action, "Bucket.Arn"
        return
    keys = [part["Key"] for part in parameters.get("Delete", {}).get("Objects", [parameters])]
    yield from ((action, f"Bucket.Arn/{key.partition('/')[0]}/*") for key in keys)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Call]]:
    """{function: its calls} over whole runs: few and many chunks, a conflict, a found verdict, a failure, a sweep."""
    folder = tmp_path_factory.mktemp("site")
    file = configuration_file(folder, write_jobs(folder, 2))
    calls: dict[str, set[Call]] = defaultdict(set)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/site.toml")
        patched.setenv("ATTRIBUTION_BUCKET", BUCKET)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patched.setenv(name, "testing")
        for settings in (Settings(), Settings(inline_chunks=0)):
            with interpreter(settings, aws=True) as made:
                _recorded(made, calls)
                _drive(made, file)
    return calls


def _recorded(made: Interpreter, calls: dict[str, set[Call]]) -> None:
    """One function runs at a time here, so that whatever is called is its call, from any thread."""
    running = ["test"]

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls[running[0]].update(asked(model.name, params))

    def watched(folder: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        def call(event: dict[str, Any], context: Any) -> Any:
            running[0] = folder
            deployed._SOURCES.clear()  # each function is a process of its own and reads the configuration
            try:
                return handler(event, context)
            finally:
                running[0] = "test"

        return call

    for client in (made.s3, made.dynamodb):
        client.meta.events.register("provide-client-params", note)
    made.handlers = {folder: watched(folder, handler) for folder, handler in made.handlers.items()}


def _drive(made: Interpreter, file: Path) -> None:
    made.put("config/site.toml", file.read_bytes())
    given = {"job_id": "1000", "adapter": "static"}
    assert made.start("job", given).output["status"] == "attributed"
    assert made.start("job", given).output["written"] == ["verdicts"]
    made.faults.append(Fault("StoreError", task="cleanup", times=9))
    left = made.start("job", {**given, "again": True})
    made.faults.clear()
    assert made.start("job", {**given, "again": True}).output["status"] == "conflicted"
    ended = json.loads((ROOT / "events" / "sweep" / "execution_aborted.json").read_text())
    ended["detail"] |= {"executionArn": left.arn, "name": left.arn.rpartition(":")[2]}
    error, answer = made.invoke("sweep", json.dumps({"detail": ended["detail"]}).encode())
    assert (error, json.loads(answer)) == ("", {"sessions": ["c:1000:0"], "run": ""})
    assert made.start("fleet", {"adapter": "static", "query": {"cases": [str(file.parent / "cases" / "job-0001")]}})
    made.faults.append(Fault("StoreError", task="summarise", times=9))
    failed = made.start("fleet", {"adapter": "static", "query": {"cases": [str(file.parent / "cases" / "job-0001")]}})
    made.faults.clear()
    name = failed.arn.rpartition(":")[2]
    ended["detail"] |= {"executionArn": failed.arn, "name": name, "status": failed.status, "input": None}
    error, answer = made.invoke("sweep", json.dumps({"detail": ended["detail"]}).encode())
    assert (error, json.loads(answer)) == ("", {"sessions": [], "run": name})


@pytest.mark.parametrize(
    "folder", ["discover", "open_attributor", "collect", "ingest", "attribute", "enrich", "write", "sweep"]
)
def test_a_function_calls_what_its_role_allows(called: dict[str, set[Call]], folder: str) -> None:
    assert called[folder]
    assert called[folder] - allowed(folder) == set()


@pytest.mark.parametrize("folder", ["discover", "collect", "write", "sweep"])
def test_a_role_allows_no_prefix_table_or_index_that_is_not_used(called: dict[str, set[Call]], folder: str) -> None:
    used = {resource for _, resource in called[folder]}
    ours = {resource for _, resource in allowed(folder) if re.match(r"(Bucket|Sessions|Verdicts)\.Arn", resource)}
    # jobs given by reference lie in jobs/, where only their senders put them
    assert ours - used - {"Bucket.Arn/jobs/*", "Bucket.Arn"} == set()


@pytest.mark.parametrize("machine", ["job", "fleet"])
def test_a_state_machine_may_invoke_the_functions_that_it_names(machine: str) -> None:
    text = json.dumps(definition(machine))
    named = set(re.findall(r"\$\{(\w+Function)\}", text))
    properties = RESOURCES[f"{machine.capitalize()}Workflow"]["Properties"]
    assert {name for name in properties["DefinitionSubstitutions"] if name.endswith("Function")} == named
    (statement,) = [one for one in _statements(machine) if one["Action"] == ["lambda:InvokeFunction"]]
    assert {resource["Fn::GetAtt"].removesuffix(".Arn") for resource in statement["Resource"]} == named


@pytest.mark.parametrize("machine", ["job", "fleet"])
def test_a_distributed_map_may_start_and_stop_executions_of_its_own_machine(machine: str) -> None:
    by_action = {action: str(one["Resource"]) for one in _statements(machine) for action in one["Action"]}
    assert f"stateMachine:${{AWS::StackName}}-{machine}" in by_action["states:StartExecution"]
    for action in ("states:DescribeExecution", "states:StopExecution"):
        assert f"execution:${{AWS::StackName}}-{machine}/*" in by_action[action]
    prefix = {"job": "collected", "fleet": "runs"}[machine]
    assert by_action["s3:GetObject"] == str({"Fn::Sub": f"${{Bucket.Arn}}/{prefix}/*"})


def test_the_fleet_may_wait_for_executions_of_the_job_workflow() -> None:
    by_action = {action: str(one["Resource"]) for one in _statements("fleet") for action in one["Action"]}
    assert "stateMachine:${AWS::StackName}-job" in by_action["states:StartExecution"]
    assert "execution:${AWS::StackName}-job:*" in by_action["states:StopExecution"]
    rule = "rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
    assert all(rule in by_action[f"events:{name}"] for name in ("PutTargets", "PutRule", "DescribeRule"))


@pytest.mark.parametrize("machine", ["job", "fleet"])
def test_a_state_machine_may_do_on_everything_only_what_aws_lets_nobody_narrow(machine: str) -> None:
    everything = [one["Action"] for one in _statements(machine) if one["Resource"] == "*"]
    assert {action.partition(":")[0] for actions in everything for action in actions} == {"logs", "xray"}
    assert all("Log" in action or "ResourcePolic" in action or "Put" in action for one in everything for action in one)


def _statements(machine: str) -> Iterator[dict[str, Any]]:
    (policy,) = RESOURCES[f"{machine.capitalize()}WorkflowRole"]["Properties"]["Policies"]
    for statement in policy["PolicyDocument"]["Statement"]:
        yield statement.get("Fn::If", [None, statement])[1]
