"""A workflow's task: one collector's evidence of one context, each observation an object.

Arrives: ``{"collect": CollectTask}``. Leaves: ``ConnectorReport``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_blueprint.workflow.deployed import workflow_host
from attribution_blueprint.workflow.tasks import CollectTask, collect
from attribution_service.http.function import Function
from attribution_service.requests import validated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

function = Function("collect")
handler = function.handler


def _collect(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    request = validated(CollectTask, event["collect"], where="collect")
    return collect(workflow_host(host), request).model_dump(mode="json")


function.tasks["collect"] = _collect
