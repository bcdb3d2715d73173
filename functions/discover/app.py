"""Which jobs: a fleet's by an adapter, or the one that a workflow was started for. Reads schedulers, writes contexts.

Arrives: ``{"discover_fleet"|"discover_job"|"accept_job": {"request": …, "execution": …}}``. Leaves: ``Manifest``,
``Accepted``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_blueprint.workflow.deployed import workflow_host
from attribution_blueprint.workflow.tasks import FleetRequest, JobRequest, accept_job, discover_fleet, discover_job
from attribution_service.http.function import Function
from attribution_service.requests import validated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

function = Function("discover")
handler = function.handler
_STARTED_BY = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
"""What Step Functions wants in an input to link executions to one another."""


def _discover_fleet(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    given = event["discover_fleet"]
    request = validated(FleetRequest, _own(given["request"]), where="input")
    return discover_fleet(workflow_host(host), request, given["execution"]).model_dump(mode="json")


def _discover_job(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    given = event["discover_job"]
    return discover_job(workflow_host(host), _job(given), given["execution"]).model_dump(mode="json")


def _accept_job(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    given = event["accept_job"]
    return accept_job(workflow_host(host), _job(given), given["execution"]).model_dump(mode="json")


def _job(given: Mapping[str, Any]) -> JobRequest:
    return validated(JobRequest, _own(given["request"]), where="input")


def _own(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != _STARTED_BY}


function.tasks["discover_fleet"] = _discover_fleet
function.tasks["discover_job"] = _discover_job
function.tasks["accept_job"] = _accept_job
