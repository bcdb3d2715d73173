"""The end of a workflow: the verdict to table and sinks, a context's row, a run's totals.

Arrives: ``{"write": WriteTask}``, ``{"record": RecordTask}`` or
``{"summarise": {"name": …, "state": …}}``. Leaves: ``Written``, ``RunRow``, ``RunTotals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_blueprint.workflow.deployed import workflow_host
from attribution_blueprint.workflow.tasks import RecordTask, SummariseTask, WriteTask, record, summarise, write
from attribution_service.http.function import Function
from attribution_service.requests import validated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

function = Function("write")
handler = function.handler


def _write(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    request = validated(WriteTask, event["write"], where="write")
    return write(workflow_host(host), request).model_dump(mode="json")


def _record(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    request = validated(RecordTask, event["record"], where="record")
    return record(workflow_host(host), request).model_dump(mode="json")


def _summarise(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    given = event["summarise"]
    state = given["state"]
    fields = {"run_id": state.get("run_id") or given["name"], "error": state.get("error")}
    request = validated(SummariseTask, fields, where="summarise")
    return summarise(workflow_host(host), request).model_dump(mode="json")


function.tasks["write"] = _write
function.tasks["record"] = _record
function.tasks["summarise"] = _summarise
