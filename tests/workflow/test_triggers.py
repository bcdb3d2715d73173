"""The rules of the template on events as AWS documents them: what starts a workflow, how, and what twice does."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from moto.events.models import EventPattern

from asl_kit import BUCKET, ROOT, interpreter
from attribution_blueprint.deployment import read_template, template_path
from attribution_blueprint.workflow.tasks import JobRequest
from attribution_service.model import SessionQuery
from attribution_service.requests import validated
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions
from attribution_service.verdict_items import run_pk
from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from pathlib import Path

RESOURCES: dict[str, Any] = read_template(template_path())["Resources"]
RULES = {
    name: resource["Properties"] for name, resource in RESOURCES.items() if resource["Type"] == "AWS::Events::Rule"
}
BATCH_JOB = {"job_id": "4c7599ae-0a82-49aa-ba5a-4727fcce14a8", "adapter": "awsbatch"}
TRAINING_JOB = {"job_id": "89c96cc8-dded-4739-afcc-6f1dc936701d", "adapter": "sagemaker"}
GIVEN = {"job_id": "481516", "cluster": "prod", "state": "FAILED", "nodes": "gpu-[0001-0004]"}
EXPECTED: dict[str, dict[str, Any]] = {
    "batch_job_runnable": {},
    "batch_job_failed": {"BatchJobFailed": BATCH_JOB},
    "training_job_completed": {},
    "training_job_failed": {"TrainingJobFailed": TRAINING_JOB},
    "training_job_stopped": {"TrainingJobFailed": TRAINING_JOB},
    "job_named": {"AttributionJobFailed": {"job_id": "481516", "cluster": "prod", "adapter": "slurm"}},
    "job_given": {"AttributionJobFailed": {"job": GIVEN}},
}
"""{file in events/triggers: {rule that fires: the input it starts the workflow with}}."""


def event(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / "events" / "triggers" / f"{name}.json").read_text())
    return read


def inputs(happened: dict[str, Any]) -> dict[str, Any]:
    """{rule: input} of the rules that an event fires."""
    found = {}
    for name, rule in RULES.items():
        if EventPattern.load(json.dumps(rule["EventPattern"])).matches_event(happened):  # type: ignore[arg-type]
            (target,) = rule["Targets"]
            transformer = target.get("InputTransformer")
            found[name] = (
                _at(target["InputPath"], happened) if transformer is None else _transformed(transformer, happened)
            )
    return found


def _transformed(transformer: dict[str, Any], happened: dict[str, Any]) -> Any:
    """As EventBridge does it: a value of text brings its quotes along (moto leaves them out)."""
    text = transformer["InputTemplate"]
    for variable, path in transformer["InputPathsMap"].items():
        text = text.replace(f"<{variable}>", json.dumps(_at(path, happened)))
    return json.loads(text)


def _at(path: str, happened: dict[str, Any]) -> Any:
    found: Any = happened
    for part in path.removeprefix("$.").split("."):
        found = found[part]
    return found


def test_every_sample_event_is_expected_and_the_other_way_round() -> None:
    assert {file.stem for file in (ROOT / "events" / "triggers").glob("*.json")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_event_starts_the_workflow_with_the_job_that_it_names(name: str) -> None:
    found = inputs(event(name))
    assert found == EXPECTED[name]
    for given in found.values():
        validated(JobRequest, given, where="input")


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_event_that_starts_nothing_waits_in_the_queue(name: str) -> None:
    (target,) = RULES[name]["Targets"]
    assert target["Arn"] == {"Ref": "JobWorkflow"}
    assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": "LostTriggers.Arn"}}
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == 86_400


def test_the_queue_takes_messages_of_this_stacks_rules_only() -> None:
    (statement,) = RESOURCES["LostTriggersPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert "rule/${AWS::StackName}-*" in statement["Condition"]["ArnLike"]["aws:SourceArn"]["Fn::Sub"]


def test_an_event_delivered_many_times_at_once_is_attributed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/site.toml")
    monkeypatch.setenv("ATTRIBUTION_BUCKET", BUCKET)
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1))
    with interpreter() as made:
        made.put("config/site.toml", file.read_bytes())
        given = {"job_id": "1000", "adapter": "static"}
        started = [made.start("job", given, wait=False) for _ in range(6)]
        rows = [made.end(one.arn).output for one in started]
        service = made.host.service
        runs = list(service.store.verdicts.query(run_pk("c", "1000")))
        statuses = Counter(row["status"] for row in rows)
        assert len(runs) == 1
        assert statuses["attributed"] >= 1
        assert statuses["attributed"] + statuses["conflicted"] == 6
        assert made.trace.invocations["attribute"] == 1
        assert not list_sessions(service, EVERYTHING, SessionQuery()).sessions
