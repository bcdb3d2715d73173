"""The read side: stored verdicts and judgements, rules, health, OpenAPI; and the pages over them (``with_pages``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_blueprint.pages import with_pages
from attribution_service.http.answers import created, ok
from attribution_service.http.function import Function
from attribution_service.model import FeedbackRequest, VerdictKey, VerdictQuery
from attribution_service.openapi import openapi_document
from attribution_service.reference import health, rules_reference
from attribution_service.verdicts import add_feedback, get_verdict, query_verdicts

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import Response

function = Function("verdicts")
app, handler = function.resolver, with_pages(function.handler)


@app.get("/v2/verdict")
def list_verdicts() -> Response[str]:
    """200 with one page of heads, newest first."""
    return ok(query_verdicts(function.call.service, function.call.caller, function.call.query(VerdictQuery)))


@app.get("/v2/verdict/<cluster>/<job_id>")
@app.get("/v2/verdict/<cluster>/<job_id>/<attempt>")
def show_verdict(cluster: str, job_id: str, **attempt: str) -> Response[str]:
    """200 with the whole enriched verdict: the latest run, or ``?run=``."""
    call = function.call
    key = call.query(VerdictKey, {"run": "run_id"}, cluster=cluster, job_id=job_id, **attempt)
    return ok(get_verdict(call.service, call.caller, key))


@app.post("/v2/verdict/<cluster>/<job_id>/<attempt>/feedback")
def post_feedback(cluster: str, job_id: str, attempt: str) -> Response[str]:
    """201 with the stored judgement."""
    call = function.call
    key = call.query(VerdictKey, {"run": "run_id"}, cluster=cluster, job_id=job_id, attempt=attempt)
    return created(add_feedback(call.service, call.caller, key, call.read(FeedbackRequest)))


@app.get("/v2/rules")
def show_rules() -> Response[str]:
    """200 with the rules and symptoms in force, and the metrics that they read."""
    return ok(rules_reference(function.call.service))


@app.get("/v2/health")
def show_health() -> Response[str]:
    """200 with versions and accepted schema versions."""
    return ok(health(function.call.service))


@app.get("/v2/openapi.json")
def show_openapi() -> Response[str]:
    """200 with the OpenAPI document of this API."""
    return ok(openapi_document())
