"""``template.yaml``, functions, operations and guides agree; policies allow what is called, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from attribution_blueprint.deployment import read_deployment, read_template, template_path
from attribution_blueprint.gateway import Invocation
from attribution_service.http.access import Access
from attribution_service.http.host import Host
from attribution_service.http.metrics import Metric
from attribution_service.http.operations import OPERATIONS
from attribution_service.records import INDEX_ATTRIBUTES, INDEXES
from attribution_service.result import EnrichedVerdict
from attribution_service.service import EVERYTHING, Service
from attribution_service.settings import Settings, read_settings
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from attribution_service.verdicts import write_verdict
from http_kit import ENGINE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TEMPLATE = read_template(template_path())
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]
DEPLOYMENT = read_deployment(template_path())
FUNCTIONS = {function.folder.name: name for name, function in DEPLOYMENT.functions.items()}
GUIDE = (ROOT / "docs" / "operator-guide.md").read_text()


def test_every_function_folder_is_deployed_and_the_other_way_round() -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}
    assert folders == set(FUNCTIONS)


def test_handlers_are_short() -> None:
    for path in (ROOT / "functions").glob("*/app.py"):
        assert path.read_text().count("\n") <= 60, path


@pytest.mark.parametrize("folder", sorted(FUNCTIONS))
def test_every_function_is_built_by_its_makefile(folder: str) -> None:
    name = FUNCTIONS[folder]
    assert RESOURCES[name]["Metadata"] == {"BuildMethod": "makefile"}
    assert f"build-{name}:" in (ROOT / "functions" / folder / "Makefile").read_text()


def test_routes_of_template_and_operations_are_the_same() -> None:
    declared = {(op.method, op.path, FUNCTIONS[op.function]) for op in OPERATIONS}
    assert {(route.method, route.path, route.function) for route in DEPLOYMENT.routes} == declared


def test_the_api_definition_sends_each_route_to_its_function() -> None:
    paths = RESOURCES["Api"]["Properties"]["DefinitionBody"]["paths"]
    found = set()
    for path, methods in paths.items():
        for method, operation in methods.items():
            uri = operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
            found.add((method.upper(), path, re.findall(r"\$\{(\w+)\.Arn\}", uri)[0]))
            assert operation["security"] == {"Fn::If": ["ByKey", [{"caller": [], "key": []}], [{"caller": []}]]}
    assert found == {(op.method, op.path, FUNCTIONS[op.function]) for op in OPERATIONS}


def test_routes_of_a_function_are_those_of_its_resolver() -> None:
    for folder in FUNCTIONS:
        file = ROOT / "functions" / folder / "app.py"
        spec = importlib.util.spec_from_file_location(f"house_{folder}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        resolver = module.function.resolver
        routes = {
            (route.method, re.sub(r"<(\w+)>", r"{\1}", route.path))
            for route in [*resolver._static_routes, *resolver._dynamic_routes]
        }
        assert routes == {(op.method, op.path) for op in OPERATIONS if op.function == folder}


def test_tables_are_as_the_records_say() -> None:
    for resource, indexes in (("Sessions", SESSION_INDEXES), ("Verdicts", VERDICT_INDEXES)):
        properties = RESOURCES[resource]["Properties"]
        wanted = table_definition("", indexes)
        for key in ("KeySchema", "BillingMode"):
            assert properties[key] == wanted[key]
        by_name = {index["IndexName"]: index for index in properties["GlobalSecondaryIndexes"]}
        assert by_name == {index["IndexName"]: index for index in wanted["GlobalSecondaryIndexes"]}
        attributes = {item["AttributeName"]: item["AttributeType"] for item in properties["AttributeDefinitions"]}
        assert attributes == {item["AttributeName"]: item["AttributeType"] for item in wanted["AttributeDefinitions"]}
        assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
        assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert len(INDEXES) == len(SESSION_INDEXES + VERDICT_INDEXES)
    assert INDEX_ATTRIBUTES


def test_every_setting_of_the_environment_is_one_that_is_read() -> None:
    variables = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
    source = "".join(path.read_text() for path in (ROOT / "layers" / "engine" / "attribution_service").rglob("*.py"))
    settings = {f"ATTRIBUTION_{name.upper()}" for name in Settings.__slots__}
    for name in variables:
        assert name in settings or name in source or name.startswith(("POWERTOOLS_", "PYDANTIC_")), name
    assert read_settings({"ATTRIBUTION_KEEP_RAW": "false", "ATTRIBUTION_EVIDENCE_DAYS": "0"}) == Settings()


def test_the_lease_of_an_attribution_is_the_functions_timeout() -> None:
    assert DEPLOYMENT.functions[FUNCTIONS["attribute"]].timeout == Settings().attribute_seconds


def test_every_parameter_function_alarm_and_metric_is_in_the_operator_guide() -> None:
    alarms = [name for name, resource in RESOURCES.items() if resource["Type"] == "AWS::CloudWatch::Alarm"]
    kinds = {
        re.sub(
            r"^(OpenAttributor|Ingest|Attribute|Enrich|Verdicts|Discover|Collect|Write|Sweep)(Errors|Throttles)$",
            r"*\2",
            name,
        )
        for name in alarms
    }
    wanted = [*TEMPLATE["Parameters"], *FUNCTIONS, *kinds, *(metric.value for metric in Metric)]
    assert [name for name in wanted if f"`{name}`" not in GUIDE] == []


def test_every_function_has_its_alarms() -> None:
    for name in FUNCTIONS.values():
        short = name.removesuffix("Function")
        for kind in ("Errors", "Throttles"):
            (dimension,) = RESOURCES[f"{short}{kind}"]["Properties"]["Dimensions"]
            assert dimension["Value"] == {"Ref": name}


# ---- policies


def role(function: str) -> dict[str, Any]:
    """Of an explicit role only: SAM would attach one that writes every log of the account."""
    properties = RESOURCES[function]["Properties"]
    assert "Policies" not in properties
    name = str(properties["Role"]["Fn::GetAtt"]).removesuffix(".Arn")
    assert name == f"{function.removesuffix('Function')}Role"
    found: dict[str, Any] = RESOURCES[name]["Properties"]
    return found


def statements(function: str) -> Iterator[dict[str, Any]]:
    for policy in role(function)["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def allowed(function: str) -> set[str]:
    return {action for statement in statements(function) for action in statement["Action"]}


@pytest.mark.parametrize("function", sorted(FUNCTIONS.values()))
def test_no_policy_allows_everything(function: str) -> None:
    for statement in statements(function):
        assert statement["Effect"] == "Allow"
        assert not [action for action in statement["Action"] if "*" in action]
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        if set(statement["Action"]) <= NO_NARROWER:
            continue
        for resource in resources:
            assert resource != "*"
            text = resource.get("Fn::Sub", "")
            # below one prefix of our own bucket, or one kind of thing of this account, never a whole service
            assert "*" not in text or re.fullmatch(
                rf"\$\{{Bucket\.Arn\}}/[a-z]+/\*|{OURS}[a-z-]+[:/](?:[^*]*[:/])?\*", text
            ), text


NO_NARROWER = {"batch:DescribeJobs"}
"""What AWS lets nobody allow for less than everything; a parameter asks for it."""
OURS = r"arn:\$\{AWS::Partition\}:[a-z]+:\$\{AWS::Region\}:\$\{AWS::AccountId\}:"


@pytest.mark.parametrize("function", sorted(FUNCTIONS.values()))
def test_a_function_writes_its_stacks_log_group_only(function: str) -> None:
    write = ["logs:CreateLogStream", "logs:PutLogEvents"]
    logs = [statement for statement in statements(function) if set(statement["Action"]) & set(write)]
    assert logs == [{"Effect": "Allow", "Action": write, "Resource": {"Fn::GetAtt": "FunctionLogs.Arn"}}]


@pytest.mark.parametrize("function", sorted(FUNCTIONS.values()))
def test_policies_from_elsewhere_are_attached_where_a_parameter_asks_for_what_they_allow(function: str) -> None:
    network, tracing, *site = role(function)["ManagedPolicyArns"]
    asked = {"Fn::If": ["HasConnectorPolicy", {"Ref": "ConnectorPolicyArn"}, {"Ref": "AWS::NoValue"}]}
    assert site == ([asked] if function in OF_CONNECTORS else [])
    assert network == {"Fn::If": ["InVpc", {"Ref": "NetworkPolicy"}, {"Ref": "AWS::NoValue"}]}
    assert tracing["Fn::If"][0] == "Traces"
    assert tracing["Fn::If"][2] == {"Ref": "AWS::NoValue"}


def test_the_code_of_a_function_may_not_use_what_lambda_needs_for_its_network() -> None:
    policy = RESOURCES["NetworkPolicy"]
    assert policy["Condition"] == "InVpc"
    deny = policy["Properties"]["PolicyDocument"]["Statement"][1]
    assert (deny["Effect"], deny["Action"], deny["Resource"]) == ("Deny", "ec2:*", "*")
    assert "lambda:SourceFunctionArn" in deny["Condition"]["ArnLike"]


OF_CONNECTORS = {"DiscoverFunction", "CollectFunction", "WriteFunction"}
"""Functions that run the site's connectors."""
OF_API = {
    "PutObject": "s3:PutObject",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject",
    "ListObjectsV2": "s3:ListBucket",
    "GetItem": "dynamodb:GetItem",
    "PutItem": "dynamodb:PutItem",
    "UpdateItem": "dynamodb:UpdateItem",
    "DeleteItem": "dynamodb:DeleteItem",
    "Query": "dynamodb:Query",
    "Invoke": "lambda:InvokeFunction",
    "DescribeExecution": "states:DescribeExecution",
}
"""{operation of the client library: the permission that it needs}."""
NOT_CALLED = {"kms:Decrypt", "kms:GenerateDataKey", "logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage"}
"""What S3, DynamoDB and Lambda itself do on a function's behalf."""


def test_policies_allow_what_the_adapters_can_call_and_nothing_else() -> None:
    stores = ROOT / "layers" / "engine" / "attribution_service" / "stores"
    source = "".join(path.read_text() for path in stores.glob("aws*.py"))
    names = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().replace("v2", "_v2").replace("__", "_"): name for name in OF_API
    }
    can = {OF_API[name] for snake, name in names.items() if re.search(rf"\b{snake}\b", source)}
    for function in FUNCTIONS.values():
        connectors = BY_CONNECTORS if function in OF_CONNECTORS else set()
        assert allowed(function) - NOT_CALLED - connectors <= can, function


BY_CONNECTORS = {
    "ssm:GetParameter",
    "secretsmanager:GetSecretValue",
    "batch:DescribeJobs",
    "sagemaker:DescribeTrainingJob",
    "logs:FilterLogEvents",
}


def test_every_call_that_a_functions_events_make_is_allowed() -> None:
    """The events of ``events/`` run over moto; what each function asks of AWS is compared with its policy."""
    called: dict[str, set[str]] = defaultdict(set)
    running: list[str] = []
    with mock_aws():
        host = _recorded_host(called, running)
        handlers = DEPLOYMENT.load()
        for folder, name in _EVENTS:
            event = json.loads((ROOT / "events" / folder / f"{name}.json").read_text())
            running[:] = [FUNCTIONS[folder]]
            answer = handlers[FUNCTIONS[folder]](event, Invocation(FUNCTIONS[folder], host, 30))
            assert not isinstance(answer, dict) or answer.get("statusCode", 200) < 400, (name, answer)
            running[:] = ["test"]
            if name == "enrich":
                body = host.service.store.objects.get(answer["verdict_key"])
                write_verdict(host.service, EVERYTHING, EnrichedVerdict.model_validate_json(body))
    assert {function: calls - allowed(function) for function, calls in called.items() if function != "test"} == {
        function: set() for function in FUNCTIONS.values() if function not in BY_WORKFLOWS
    }


BY_WORKFLOWS = {*OF_CONNECTORS, "SweepFunction"}
"""Functions whose calls the tests of the state machines compare with their policies."""


_EVENTS = [
    ("open_attributor", "open_attributor"),
    ("open_attributor", "list_attributors"),
    ("open_attributor", "describe_attributor"),
    ("ingest", "post_observation"),
    ("ingest", "post_observation_gzip"),
    ("ingest", "post_upload"),
    ("open_attributor", "put_job"),
    ("attribute", "get_attribution"),
    ("attribute", "attribute_later"),
    ("enrich", "enrich"),
    ("open_attributor", "count_abandoned"),
    ("verdicts", "list_verdicts"),
    ("verdicts", "show_latest_verdict"),
    ("verdicts", "show_verdict"),
    ("verdicts", "post_feedback"),
    ("verdicts", "show_rules"),
    ("open_attributor", "delete_attributor"),
]


def _recorded_host(called: dict[str, set[str]], running: list[str]) -> Host:
    running[:] = ["test"]
    s3, dynamodb = aws_clients(region="us-east-1")
    for client in (s3, dynamodb):
        client.meta.events.register(
            "before-call", lambda model, **_: called[running[0]].add(OF_API.get(model.name, model.name))
        )
    names = AwsNames("bucket", "sessions", "verdicts")
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
    plain = boto3.client("dynamodb", region_name="us-east-1")
    plain.create_table(**table_definition("sessions", SESSION_INDEXES))
    plain.create_table(**table_definition("verdicts", VERDICT_INDEXES))
    service = Service(
        aws_store(names, s3, dynamodb), ENGINE, lambda: 1_780_438_449.0, Settings(keep_raw=True, evidence_days=7)
    )
    return Host(service, Access(), write_metrics=lambda _: None)
