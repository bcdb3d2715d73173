"""What ``template.yaml`` promises an operator: encryption, logs, throttles, networks, alarms."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from attribution_blueprint.deployment import read_template, template_path
from attribution_blueprint.pages import CATCH_ALL
from attribution_service.http.metrics import Metric

TEMPLATE = read_template(template_path())
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]


def test_the_bucket_is_private_encrypted_reached_by_tls_only_and_forgets() -> None:
    bucket = RESOURCES["Bucket"]["Properties"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == {"Fn::If": ["HasKmsKey", "aws:kms", "AES256"]}
    (tls,) = RESOURCES["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (tls["Effect"], tls["Principal"], tls["Action"]) == ("Deny", "*", "s3:*")
    assert tls["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"] if "Id" in rule}
    assert (rules["sessions"]["Prefix"], rules["sessions"]["ExpirationInDays"]) == ("attributors/", 15)


def test_one_key_encrypts_everything_that_holds_evidence() -> None:
    for name in ("Sessions", "Verdicts"):
        sse = RESOURCES[name]["Properties"]["SSESpecification"]["Fn::If"]
        assert sse[:2] == ["HasKmsKey", {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Ref": "KmsKeyArn"}}]
    for name in ("FunctionLogs", "AccessLogs"):
        assert RESOURCES[name]["Properties"]["KmsKeyId"]["Fn::If"][:2] == ["HasKmsKey", {"Ref": "KmsKeyArn"}]
    bucket = RESOURCES["Bucket"]["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
    assert bucket["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]["Fn::If"][:2] == [
        "HasKmsKey",
        {"Ref": "KmsKeyArn"},
    ]


def test_logs_are_kept_for_as_long_as_the_parameter_says() -> None:
    groups = [resource for resource in RESOURCES.values() if resource["Type"] == "AWS::Logs::LogGroup"]
    assert groups
    for group in groups:
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert TEMPLATE["Globals"]["Function"]["LoggingConfig"] == {"LogGroup": {"Ref": "FunctionLogs"}}


def test_the_api_logs_who_asked_for_what_and_throttles() -> None:
    api = RESOURCES["Api"]["Properties"]
    access = api["AccessLogSetting"]
    assert access["DestinationArn"] == {"Fn::GetAtt": "AccessLogs.Arn"}
    line = json.loads(access["Format"])
    assert {"request_id", "caller", "subject", "route", "status", "latency_ms"} <= line.keys()
    (throttle,) = [setting for setting in api["MethodSettings"] if setting["ResourcePath"] == "/*"]
    assert throttle["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert throttle["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}
    plan = RESOURCES["UsagePlan"]
    assert plan["Condition"] == "ByKey"
    assert plan["Properties"]["Throttle"] == {"RateLimit": {"Ref": "CallerRate"}, "BurstLimit": {"Ref": "CallerBurst"}}


def test_a_private_api_is_reached_through_its_endpoints_only() -> None:
    api = RESOURCES["Api"]["Properties"]
    assert api["EndpointConfiguration"]["Type"] == {"Ref": "EndpointType"}
    condition, policy, _ = api["DefinitionBody"]["x-amazon-apigateway-policy"]["Fn::If"]
    assert condition == "IsPrivate"
    deny = [statement for statement in policy["Statement"] if statement["Effect"] == "Deny"]
    assert [statement["Condition"] for statement in deny] == [
        {"StringNotEquals": {"aws:SourceVpce": {"Ref": "VpcEndpointIds"}}}
    ]


def test_the_api_signs_requests_unless_it_takes_tokens() -> None:
    caller = RESOURCES["Api"]["Properties"]["DefinitionBody"]["securityDefinitions"]["caller"]["Fn::If"]
    kinds = [definition["x-amazon-apigateway-authtype"] for definition in caller[1:]]
    assert (caller[0], kinds) == ("ByToken", ["cognito_user_pools", "awsSigv4"])


def test_functions_run_in_the_subnets_of_the_parameter_and_trace_only_if_asked() -> None:
    shared = TEMPLATE["Globals"]["Function"]
    assert shared["VpcConfig"]["Fn::If"][0] == "InVpc"
    assert TEMPLATE["Parameters"]["Tracing"]["Default"] == "PassThrough"
    assert TEMPLATE["Parameters"]["Runtime"]["Default"] == "python3.13"
    assert "arm64" in TEMPLATE["Parameters"]["Architecture"]["AllowedValues"]


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_an_environment_to_deploy_to_gives_parameters_that_there_are(environment: str) -> None:
    deploy = tomllib.loads((template_path().parent / "samconfig.toml").read_text())[environment]["deploy"]["parameters"]
    given = dict(part.split("=", 1) for part in deploy["parameter_overrides"].split())
    assert given.keys() <= TEMPLATE["Parameters"].keys()
    assert given["Stage"] == environment
    assert deploy["capabilities"] == "CAPABILITY_IAM"


@pytest.mark.parametrize(
    ("alarm", "metric"),
    [
        ("ServerErrors", "5XXError"),
        ("DashboardErrors", "5xx"),
        ("SlowAnswers", "Latency"),
        ("LostAttributions", "AsyncEventsDropped"),
        ("AbandonedSessions", Metric.ABANDONED.value),
    ],
)
def test_what_an_operator_must_hear_of_raises_an_alarm(alarm: str, metric: str) -> None:
    properties = RESOURCES[alarm]["Properties"]
    assert properties["MetricName"] == metric
    assert properties["AlarmActions"]["Fn::If"][:2] == ["HasTopic", [{"Ref": "AlarmTopicArn"}]]


# ---- the dashboard


def test_the_dashboards_api_is_deployed_only_where_an_issuer_is_named() -> None:
    parts = {name: part for name, part in RESOURCES.items() if name.startswith("Dashboard")}
    assert {part.get("Condition") for part in parts.values()} == {"HasDashboard"}
    assert [part["Type"].rpartition("::")[2] for part in parts.values()].count("Route") == 1


def test_its_one_route_asks_for_a_token_and_leads_to_the_function_of_verdicts() -> None:
    route = RESOURCES["DashboardRoute"]["Properties"]
    assert (route["RouteKey"], route["AuthorizationType"]) == (CATCH_ALL, "JWT")
    assert route["AuthorizerId"] == {"Ref": "DashboardAuthorizer"}
    assert RESOURCES["DashboardAuthorizer"]["Properties"]["AuthorizerType"] == "JWT"
    integration = RESOURCES["DashboardIntegration"]["Properties"]
    assert integration["IntegrationUri"] == {"Fn::GetAtt": "VerdictsFunction.Arn"}
    assert integration["PayloadFormatVersion"] == "2.0"
