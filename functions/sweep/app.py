"""Removes what executions left behind: one that an event says was aborted, timed out or failed; by schedule, any.

Of a fleet's execution it is the run's record that says ``running`` for ever; a job's leaves its session.

Arrives: an event "Step Functions Execution Status Change", or ``{"sweep_lost": {}}``. Leaves: ``Swept``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_service.http.function import Function
from attribution_service.workflow.sweeping import close_run, sweep_execution, sweep_lost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

function = Function("sweep")
handler = function.handler


def _ended(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """An input that is too long is not part of the event: then the run is named by the execution."""
    detail = event["detail"]
    given = json.loads(detail.get("input") or "{}")
    run_id = str(given.get("run_id") or detail["name"])
    swept = sweep_execution(host.service, detail["executionArn"], run_id=run_id, status=detail["status"])
    closed = close_run(host.service, run_id, runner=detail["name"], status=detail["status"])
    return swept.model_copy(update={"run": closed}).model_dump(mode="json")


def _lost(host: Host, _: Mapping[str, Any]) -> dict[str, Any]:
    # boto3 is slow to import, and the other task needs none.
    from attribution_service.stores.aws_executions import describe_execution  # noqa: PLC0415 -- see above

    return sweep_lost(host.service, describe_execution).model_dump(mode="json")


function.tasks |= {"detail": _ended, "sweep_lost": _lost}
