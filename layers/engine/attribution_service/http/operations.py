"""Every route of the v2 API as data: the OpenAPI document is made from it, and tests hold routes and template to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_service.model import (
    Feedback,
    FeedbackRequest,
    Health,
    OpenRequest,
    Receipt,
    SessionPage,
    SessionQuery,
    SessionView,
    UploadRequest,
    UploadTicket,
    VerdictPage,
    VerdictQuery,
)
from attribution_service.result import EnrichedVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

__all__ = ["OPERATIONS", "Answer", "Operation"]

_SESSION = "/v2/attributor/{attributor_id}"
_VERDICT = "/v2/verdict/{cluster}/{job_id}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One successful answer: a model, or the name of a written schema; neither where there is no body."""

    text: str
    model: type[BaseModel] | None = None
    schema: str = ""
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One route."""

    method: str
    path: str
    operation_id: str
    function: str
    """Folder under ``functions/``."""
    summary: str
    answers: Mapping[int, Answer]
    problems: tuple[str, ...] = ()
    """Slugs beside those that every route may answer."""
    body: type[BaseModel] | str | None = None
    """A model, or the name of a written schema."""
    media: tuple[str, ...] = ("application/json",)
    query: type[BaseModel] | None = None
    query_names: tuple[str, ...] = field(default=())
    """Query parameters that are plain ids, where there is no model of all."""


_BODY_PROBLEMS = ("too-large", "unsupported-media-type", "invalid-request")

OPERATIONS = (
    Operation(
        "POST",
        "/v2/attributor",
        "open_attributor",
        "open_attributor",
        "Open a session for one attempt of one job",
        {201: Answer("The session", SessionView, headers=("Location",))},
        ("forbidden", "duplicate-session", *_BODY_PROBLEMS),
        body=OpenRequest,
    ),
    Operation(
        "GET",
        "/v2/attributor",
        "list_attributors",
        "open_attributor",
        "List open sessions, oldest first",
        {200: Answer("One page", SessionPage)},
        ("forbidden", "invalid-request"),
        query=SessionQuery,
    ),
    Operation(
        "GET",
        _SESSION,
        "describe_attributor",
        "open_attributor",
        "Describe an open session and its job",
        {200: Answer("The session", SessionView)},
        ("not-found",),
    ),
    Operation(
        "PUT",
        f"{_SESSION}/job",
        "put_job",
        "open_attributor",
        "Add facts of the job that arrive late: state, end, exit code, cancellation",
        {200: Answer("The session with the job as it is now", SessionView)},
        ("not-found", *_BODY_PROBLEMS),
        body="Job",
    ),
    Operation(
        "DELETE",
        _SESSION,
        "delete_attributor",
        "open_attributor",
        "Delete a session and every object of it",
        {204: Answer("Gone")},
        ("not-found",),
    ),
    Operation(
        "POST",
        f"{_SESSION}/observation",
        "post_observation",
        "ingest",
        "Deliver one batch of evidence",
        {201: Answer("Taken, once", Receipt)},
        ("not-found", "duplicate-observation", "observation-conflict", *_BODY_PROBLEMS),
        body="Observation",
        media=("application/json", "application/x-ndjson"),
    ),
    Operation(
        "POST",
        f"{_SESSION}/observation/upload",
        "post_upload",
        "ingest",
        "Announce a body that is too large for a request",
        {201: Answer("Where to put it", UploadTicket)},
        ("not-found", *_BODY_PROBLEMS),
        body=UploadRequest,
    ),
    Operation(
        "GET",
        f"{_SESSION}/attribution",
        "get_attribution",
        "attribute",
        "The verdict over what was delivered so far",
        {
            200: Answer("The raw verdict", schema="Verdict", headers=("ETag",)),
            202: Answer("Being made; ask again", schema="Pending", headers=("Retry-After",)),
            304: Answer("As the client has it", headers=("ETag",)),
        },
        ("not-found",),
    ),
    Operation(
        "GET",
        "/v2/verdict",
        "list_verdicts",
        "verdicts",
        "List stored verdicts, newest first",
        {200: Answer("One page of heads", VerdictPage)},
        ("forbidden", "invalid-request"),
        query=VerdictQuery,
    ),
    Operation(
        "GET",
        _VERDICT,
        "show_latest_verdict",
        "verdicts",
        "The verdict on the latest attempt of a job",
        {200: Answer("The enriched verdict", EnrichedVerdict)},
        ("not-found", "invalid-request"),
        query_names=("run",),
    ),
    Operation(
        "GET",
        f"{_VERDICT}/{{attempt}}",
        "show_verdict",
        "verdicts",
        "The verdict on one attempt: its latest run unless said otherwise",
        {200: Answer("The enriched verdict", EnrichedVerdict)},
        ("not-found", "invalid-request"),
        query_names=("run",),
    ),
    Operation(
        "POST",
        f"{_VERDICT}/{{attempt}}/feedback",
        "post_feedback",
        "verdicts",
        "Say whether a verdict was right",
        {201: Answer("The stored judgement", Feedback)},
        ("not-found", *_BODY_PROBLEMS),
        body=FeedbackRequest,
        query_names=("run",),
    ),
    Operation(
        "GET",
        "/v2/rules",
        "show_rules",
        "verdicts",
        "The rules and symptoms in force",
        {200: Answer("The reference", schema="RulesReference")},
    ),
    Operation(
        "GET",
        "/v2/health",
        "show_health",
        "verdicts",
        "Versions and accepted schema versions",
        {200: Answer("Alive", Health)},
    ),
    Operation(
        "GET",
        "/v2/openapi.json",
        "show_openapi",
        "verdicts",
        "This document",
        {200: Answer("The document", schema="OpenApi")},
    ),
)
"""In the order of the documentation."""
