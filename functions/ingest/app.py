"""Observations: taken inline, or announced as an upload. Uses the table of sessions and the bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from attribution_service.errors import DuplicateObservationError, ObservationConflictError
from attribution_service.http.answers import created
from attribution_service.http.function import Function
from attribution_service.http.metrics import Metric
from attribution_service.http.workflow import gather_for, ingest_for, tally_for
from attribution_service.ingest import ingest
from attribution_service.model import UploadRequest
from attribution_service.uploads import issue_upload

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import Response

function = Function("ingest")
app = function.resolver
handler = function.handler


@app.post("/v2/attributor/<attributor_id>/observation")
def post_observation(attributor_id: str) -> Response[str]:
    """201 with the receipt; 409 for a duplicate (delivered) and for a conflict (not delivered)."""
    call = function.call
    kind = call.headers.get("content-type", "")
    try:
        receipt = ingest(call.service, call.caller, unquote(attributor_id), call.body(), content_type=kind)
    except DuplicateObservationError:
        call.meter.count(Metric.DUPLICATES, 1)
        raise
    except ObservationConflictError:
        call.meter.count(Metric.CONFLICTS, 1)
        raise
    call.meter.count(Metric.INGESTED_LINES, receipt.lines)
    call.meter.count(Metric.INGESTED_EVENTS, receipt.events)
    return created(receipt)


@app.post("/v2/attributor/<attributor_id>/observation/upload")
def post_upload(attributor_id: str) -> Response[str]:
    """201 with a one-time URL for a body that is too large for a request."""
    call = function.call
    return created(issue_upload(call.service, call.caller, unquote(attributor_id), call.read(UploadRequest)))


function.tasks |= {"gather": gather_for, "ingest": ingest_for, "tally": tally_for}
