"""A context's session as a workflow handles it: opened in its name, judged in line, removed only by its opener."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from attribution_lib.taxonomy import Outcome
from attribution_service.attribute import attribute
from attribution_service.errors import DuplicateSessionError, InvalidRequestError, NotFoundError
from attribution_service.model import Identifier, OpenRequest
from attribution_service.ports import ObjectMissingError
from attribution_service.service import EVERYTHING
from attribution_service.sessions import delete_session, open_session
from attribution_service.verdict_items import run_pk, run_prefix
from attribution_service.workflow.keys import ContextKeys, key_of

if TYPE_CHECKING:
    from attribution_service.service import Service

__all__ = [
    "AttributeTask",
    "Cleaned",
    "CleanupTask",
    "Judged",
    "OpenStatus",
    "OpenTask",
    "Opened",
    "attribute_task",
    "cleanup_task",
    "open_task",
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenTask(_Model):
    """Open the session of one context. ``opened_by`` names the execution: sent twice, it gets the same session."""

    job_ref: str
    opened_by: str
    again: bool = False
    """Attribute even what has a verdict already."""
    ttl_seconds: int | None = None


class OpenStatus(StrEnum):
    """How opening ended."""

    OPENED = "opened"
    CONFLICTED = "conflicted"
    """Somebody else is at it; nothing of theirs was touched."""
    FOUND = "found"
    """There is a verdict on this attempt already; no session is open."""


class Opened(_Model):
    """``attributor_id`` is ours when opened, else the one in the way; ``run_id`` is of the verdict found."""

    status: OpenStatus
    attributor_id: str
    run_id: str = ""


class AttributeTask(_Model):
    """Judge what was delivered to a session."""

    attributor_id: Identifier


class Judged(_Model):
    """The verdict is made and kept; ``etag`` names it."""

    etag: str
    outcome: Outcome
    spills_read: int


class CleanupTask(_Model):
    """Remove what one execution made of a context: its session, if it opened one, and what it collected."""

    run_id: str
    context: str
    """``cluster:job_id:attempt``, which is also the session's id; empty when it came to none."""
    opened_by: str


class Cleaned(_Model):
    """``session`` says whether one of this opener was there; ``objects`` counts what was collected."""

    session: bool
    objects: int


def open_task(service: Service, request: OpenTask) -> Opened:
    """The session of a context, or why there is none; ``InvalidRequestError``, ``NotFoundError``."""
    job = _job(service, request.job_ref)
    opening = OpenRequest(job=job, ttl_seconds=request.ttl_seconds)
    try:
        view = open_session(service, EVERYTHING, opening, opened_by=request.opened_by)
    except DuplicateSessionError as error:
        return Opened(status=OpenStatus.CONFLICTED, attributor_id=str(error.extras["attributor_id"]))
    # Looked for while the session is ours: whoever wrote a verdict did so before theirs was gone.
    found = None if request.again else _known_run(service, view.cluster, view.job_id, view.attempt)
    if found is None:
        return Opened(status=OpenStatus.OPENED, attributor_id=view.attributor_id)
    with suppress(NotFoundError):
        delete_session(service, EVERYTHING, view.attributor_id, opened_by=request.opened_by)
    return Opened(status=OpenStatus.FOUND, attributor_id=view.attributor_id, run_id=found)


def attribute_task(service: Service, request: AttributeTask) -> Judged:
    """Judge in line however many observations there are: a workflow waits for the invocation. ``NotFoundError``."""
    found = attribute(replace(service, invoke_later=None), EVERYTHING, request.attributor_id)
    outcome = Outcome(json.loads(found.verdict)["outcome"])
    return Judged(etag=found.etag, outcome=outcome, spills_read=found.spills_read)


def cleanup_task(service: Service, request: CleanupTask) -> Cleaned:
    """Remove the session and the collected objects of one context; what is gone already is fine."""
    if not request.context:
        return Cleaned(session=False, objects=0)
    session = True
    try:
        delete_session(service, EVERYTHING, request.context, opened_by=request.opened_by)
    except NotFoundError:
        session = False
    objects = service.store.objects
    prefix = ContextKeys(request.run_id, request.context).collected
    return Cleaned(session=session, objects=objects.delete_all(info.key for info in objects.list(prefix)))


def _job(service: Service, reference: str) -> dict[str, Any]:
    """The ``job`` object of a stored context, or of a bare job."""
    key = key_of(reference)
    try:
        document = json.loads(service.store.objects.get(key))
    except ObjectMissingError:
        raise NotFoundError(f"job_ref {reference[:200]}: there is no such object", job_ref=reference[:200]) from None
    except ValueError as error:
        raise InvalidRequestError(f"job_ref {reference[:200]}: is not JSON ({error})") from None
    job = document.get("job", document) if isinstance(document, dict) else None
    if not isinstance(job, dict):
        raise InvalidRequestError(f"job_ref {reference[:200]}: holds no job object")
    return job


def _known_run(service: Service, cluster: str, job_id: str, attempt: int) -> str | None:
    """The latest run that has a verdict on this attempt."""
    runs = service.store.verdicts.query(run_pk(cluster, job_id), run_prefix(attempt))
    return max(((int(item["at"]), str(item["run_id"])) for item in runs), default=(0, None))[1]
