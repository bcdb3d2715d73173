"""Sessions: open, describe, list, take late facts, delete. Uses the table of sessions and the bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from attribution_service.http.abandoned import report_abandoned
from attribution_service.http.answers import created, no_content, ok, session_path
from attribution_service.http.function import Function
from attribution_service.http.workflow import cleanup_for, open_for
from attribution_service.model import OpenRequest, SessionQuery
from attribution_service.sessions import delete_session, describe_session, list_sessions, open_session, update_job

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import Response

function = Function("open_attributor")
app = function.resolver
handler = function.handler


@app.post("/v2/attributor")
def open_attributor() -> Response[str]:
    """201, or 409 when the id is open."""
    call = function.call
    session = open_session(call.service, call.caller, call.read(OpenRequest))
    return created(session, location=session_path(session.attributor_id))


@app.get("/v2/attributor")
def list_attributors() -> Response[str]:
    """200 with one page, oldest first."""
    call = function.call
    return ok(list_sessions(call.service, call.caller, call.query(SessionQuery)))


@app.get("/v2/attributor/<attributor_id>")
def describe_attributor(attributor_id: str) -> Response[str]:
    """200 with the session and its job."""
    call = function.call
    return ok(describe_session(call.service, call.caller, unquote(attributor_id)))


@app.put("/v2/attributor/<attributor_id>/job")
def put_job(attributor_id: str) -> Response[str]:
    """200 with the session and the job as it is now."""
    call = function.call
    return ok(update_job(call.service, call.caller, unquote(attributor_id), call.read_object()))


@app.delete("/v2/attributor/<attributor_id>")
def delete_attributor(attributor_id: str) -> Response[str]:
    """204; every object of the session is gone."""
    call = function.call
    delete_session(call.service, call.caller, unquote(attributor_id))
    return no_content()


function.tasks |= {"count_abandoned": report_abandoned, "open": open_for, "cleanup": cleanup_for}
