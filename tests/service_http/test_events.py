"""The events of ``events/``, which ``sam local invoke`` takes, fed to the very handlers."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.http.function import LOGGER
from attribution_service.http.host import Host
from attribution_service.http.metrics import Metric
from attribution_service.http.operations import OPERATIONS
from attribution_service.result import EnrichedVerdict
from attribution_service.service import EVERYTHING
from attribution_service.verdicts import write_verdict
from http_kit import DEPLOYMENT, ROOT, invoke, local_host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVENTS = ROOT / "events"
OF_WORKFLOWS = {"discover", "collect", "write", "sweep", "triggers"}
"""Folders whose events the tests of the state machines take."""
ORDER = {
    "open_attributor": 201,
    "list_attributors": 200,
    "describe_attributor": 200,
    "post_observation": 201,
    "post_observation_gzip": 201,
    "post_upload": 201,
    "put_job": 200,
    "get_attribution": 200,
    "attribute_later": None,
    "enrich": None,
    "count_abandoned": None,
    "list_verdicts": 200,
    "show_latest_verdict": 200,
    "show_verdict": 200,
    "post_feedback": 201,
    "show_rules": 200,
    "show_health": 200,
    "show_openapi": 200,
    "delete_attributor": 204,
}
"""Every event in an order that makes sense, and the status that the gateway would be given."""


@pytest.fixture
def host(folder: Path) -> Iterator[tuple[Host, list[dict[str, Any]]]]:
    written: list[dict[str, Any]] = []
    with local_host(folder) as (made, _):
        yield Host(made.service, write_metrics=lambda line: written.append(json.loads(line))), written


def event_file(name: str) -> Path:
    (found,) = EVENTS.glob(f"*/{name}.json")
    return found


def send(name: str, host: Host) -> Any:
    file = event_file(name)
    return invoke(file.parent.name, json.loads(file.read_text()), host)


def test_every_event_is_answered_and_every_file_is_one(host: tuple[Host, list[dict[str, Any]]]) -> None:
    made, written = host
    files = EVENTS.glob("*/*.json")
    assert {file.stem for file in files if file.parent.name not in OF_WORKFLOWS} == set(ORDER)
    answers: dict[str, Any] = {}
    for name, status in ORDER.items():
        answers[name] = send(name, made)
        if status is not None:
            assert answers[name]["statusCode"] == status, (name, answers[name])
        if name == "enrich":
            body = made.service.store.objects.get(answers[name]["verdict_key"])
            write_verdict(made.service, EVERYTHING, EnrichedVerdict.model_validate_json(body))
    assert answers["enrich"]["sub_domain"] == "hardware"
    assert json.loads(answers["show_verdict"]["body"])["bad_nodes"][0]["node"] == "gpu-0003"
    assert json.loads(answers["list_verdicts"]["body"])["verdicts"][0]["evidence_status"] == "complete"
    assert answers["count_abandoned"] == {"abandoned": 0}

    counted = {name: value for line in written for name, value in line.items() if name in set(Metric)}
    assert counted["IngestedLines"] == 2
    assert {"IngestedEvents", "Verdicts", "EngineTime", "AbandonedSessions"} <= set(counted)
    (verdicts,) = [line for line in written if "Verdicts" in line]
    assert verdicts["sub_domain"] == "hardware"


def test_the_same_event_again_is_a_duplicate_and_counted(host: tuple[Host, list[dict[str, Any]]]) -> None:
    made, written = host
    send("open_attributor", made)
    send("post_observation", made)
    again = send("post_observation", made)
    assert (again["statusCode"], written[-1]["DuplicateObservations"]) == (409, 1)


def test_every_metric_line_is_in_cloudwatchs_embedded_format(host: tuple[Host, list[dict[str, Any]]]) -> None:
    made, written = host
    send("open_attributor", made)
    send("post_observation", made)
    for line in written:
        (definition,) = line["_aws"]["CloudWatchMetrics"]
        assert definition["Namespace"] == "Attribution"
        for metric in definition["Metrics"]:
            assert isinstance(line[metric["Name"]], int | float)
        for dimensions in definition["Dimensions"]:
            assert all(isinstance(line[dimension], str) for dimension in dimensions)


def test_every_log_line_carries_the_correlation_id(host: tuple[Host, list[dict[str, Any]]]) -> None:
    made, _ = host
    send("show_health", made)
    (handler,) = logging.getLogger(LOGGER).handlers
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    before = handler.setStream(written)
    try:
        send("describe_attributor", made)
        send("open_attributor", made)
    finally:
        handler.setStream(before)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["message"] for line in lines] == ["refused: not-found", "answered", "answered"]
    assert {line["correlation_id"] for line in lines} == {"c6af9ac6-7b61-11e6-9a41-93e8deadbeef"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.operation_id)
def test_every_route_has_an_event_and_it_takes_that_route(operation: Any) -> None:
    event = json.loads((EVENTS / operation.function / f"{operation.operation_id}.json").read_text())
    assert (event["httpMethod"], event["resource"]) == (operation.method, operation.path)


def test_every_function_has_an_event() -> None:
    assert {file.parent.name for file in EVENTS.glob("*/*.json")} - {"triggers"} == {
        function.folder.name for function in DEPLOYMENT.functions.values()
    }
