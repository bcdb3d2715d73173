"""The verdict of a session, in line or put off to an asynchronous invocation of this very function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pydantic_core import from_json

from attribution_lib.taxonomy import Outcome, sub_domain_of
from attribution_service.attribute import attribute, attribute_later
from attribution_service.http.answers import accepted, not_modified, ok_bytes
from attribution_service.http.function import Function
from attribution_service.http.metrics import Metric
from attribution_service.http.workflow import attribute_for
from attribution_service.model import AttributionStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.event_handler import Response

    from attribution_service.http.host import Host

function = Function("attribute")
app = function.resolver
handler = function.handler


@app.get("/v2/attributor/<attributor_id>/attribution")
def get_attribution(attributor_id: str) -> Response[str]:
    """200 with the raw verdict, 304 when the client has it, 202 while it is being made elsewhere."""
    call = function.call
    condition = call.headers.get("if-none-match")
    found = attribute(call.service, call.caller, unquote(attributor_id), if_none_match=condition)
    if found.status is AttributionStatus.NOT_MODIFIED:
        return not_modified(found.etag)
    if found.status is AttributionStatus.PENDING:
        return accepted(found.retry_after)
    if not found.cached:
        outcome = Outcome(from_json(found.verdict)["outcome"])
        call.meter.count(Metric.VERDICTS, 1, sub_domain=sub_domain_of(outcome).value)
        call.meter.count(Metric.ENGINE_TIME, found.engine_seconds * 1000)
        call.meter.count(Metric.SPILLS_READ, found.spills_read)
    return ok_bytes(found.verdict, etag=found.etag)


def _later(host: Host, event: Mapping[str, Any]) -> None:
    """Do what a request put off; the next request finds the verdict."""
    attribute_later(host.service, str(event["attribute_later"]))


function.tasks["attribute_later"] = _later
function.tasks["attribute"] = attribute_for
