"""A typed client of the v2 API for orchestrators: ``Client(Transport("https://host/stage", SignedV4("eu-west-1")))``.

Transport errors, 429 and 5xx are tried again with growing pauses; an observation that was taken by an earlier try is
reported as delivered. Refusals are ``RefusedError`` with the problem's members.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from attribution_lib.verdict import Verdict
from attribution_service.credentials import Anonymous, BearerToken, Credentials, SignedV4
from attribution_service.model import Feedback, Health, Receipt, SessionPage, SessionView, UploadTicket, VerdictPage
from attribution_service.result import EnrichedVerdict
from attribution_service.transport import (
    ClientError,
    RefusedError,
    Transport,
    UnreachableError,
    asked_pause,
    refused,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.model import FeedbackRequest, UploadRequest

__all__ = [
    "Anonymous",
    "BearerToken",
    "Client",
    "ClientError",
    "Credentials",
    "Delivery",
    "Fetched",
    "RefusedError",
    "SignedV4",
    "Transport",
    "UnreachableError",
]

_JSON = "application/json"
_DUPLICATE = "duplicate-observation"
_POLL = 5
"""Seconds until a verdict is asked for again, where the answer does not say."""
_PENDING, _NOT_MODIFIED, _REFUSED = 202, 304, 400


@dataclass(frozen=True, slots=True)
class Delivery:
    """An observation that is delivered; ``duplicate`` when it was so before this call."""

    receipt: Receipt
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """A verdict and its version. Without one: ``retry_after`` says when to ask again; 0 is "as your ``etag`` says"."""

    verdict: Verdict | None
    etag: str
    retry_after: int = 0


@dataclass(frozen=True, slots=True)
class Client:
    """The calls of the API; threads may share one."""

    transport: Transport

    def open(self, job: Mapping[str, Any], *, attributor_id: str | None = None, ttl: int | None = None) -> SessionView:
        """A new session; ``RefusedError`` with slug ``duplicate-session`` when the id is open."""
        given = {"job": dict(job), "attributor_id": attributor_id, "ttl_seconds": ttl}
        body = json.dumps({name: value for name, value in given.items() if value is not None})
        reply = self.transport.call("POST", "/v2/attributor", body.encode(), _typed(), repeatable=False)
        return SessionView.model_validate_json(reply.body)

    def sessions(self, *, cluster: str | None = None, cursor: str | None = None, limit: int = 50) -> SessionPage:
        """One page of open sessions, oldest first."""
        query = _query(cluster=cluster, cursor=cursor, limit=limit)
        return SessionPage.model_validate_json(self.transport.call("GET", f"/v2/attributor{query}").body)

    def describe(self, attributor_id: str) -> SessionView:
        """An open session with its job."""
        return SessionView.model_validate_json(self.transport.call("GET", _session(attributor_id)).body)

    def update_job(self, attributor_id: str, facts: Mapping[str, Any]) -> SessionView:
        """Add facts that arrive late; the session with the job as it is now."""
        path = f"{_session(attributor_id)}/job"
        reply = self.transport.call("PUT", path, json.dumps(dict(facts)).encode(), _typed())
        return SessionView.model_validate_json(reply.body)

    def delete(self, attributor_id: str) -> None:
        """Delete a session; ``RefusedError`` with slug ``not-found`` when it is gone already."""
        self.transport.call("DELETE", _session(attributor_id))

    def observe(self, attributor_id: str, body: bytes, *, content_type: str = _JSON) -> Delivery:
        """Deliver one observation, as JSON or NDJSON, gzip or not; ``TypeError`` for anything but bytes."""
        if not isinstance(body, bytes | bytearray | memoryview):
            msg = f"body: {type(body).__name__}; expected bytes, such as json.dumps(observation).encode()"
            raise TypeError(msg)
        path = f"{_session(attributor_id)}/observation"
        try:
            reply = self.transport.call("POST", path, body, _typed(content_type))
        except RefusedError as error:
            if error.slug != _DUPLICATE:
                raise
            return Delivery(Receipt.model_validate(error.problem["receipt"]), duplicate=True)
        return Delivery(Receipt.model_validate_json(reply.body), duplicate=False)

    def announce(self, attributor_id: str, request: UploadRequest) -> UploadTicket:
        """A one-time URL for a body that is too large for a request."""
        path = f"{_session(attributor_id)}/observation/upload"
        reply = self.transport.call("POST", path, request.model_dump_json().encode(), _typed())
        return UploadTicket.model_validate_json(reply.body)

    def put(self, ticket: UploadTicket, body: bytes) -> None:
        """Put an announced body where its ticket says; then ``observe`` it by its ``object_key``."""
        reply = self.transport.send("PUT", ticket.upload_url, body, ticket.headers)
        if reply.status >= _REFUSED:
            raise refused(reply)

    def attribute(self, attributor_id: str, *, etag: str = "") -> Fetched:
        """The verdict over what was delivered so far; with ``etag`` only if there is another one by now."""
        headers = {"If-None-Match": f'"{etag}"'} if etag else {}
        reply = self.transport.call("GET", f"{_session(attributor_id)}/attribution", headers=headers)
        if reply.status == _PENDING:
            return Fetched(None, "", int(asked_pause(reply.headers.get("retry-after", "")) or _POLL))
        if reply.status == _NOT_MODIFIED:
            return Fetched(None, etag)
        return Fetched(Verdict.model_validate_json(reply.body), reply.headers["etag"].strip('"'))

    def verdict(
        self, cluster: str, job_id: str, attempt: int | None = None, *, run: str | None = None
    ) -> EnrichedVerdict:
        """A stored verdict: of the latest attempt and its latest run unless said otherwise."""
        path = _job(cluster, job_id) + ("" if attempt is None else f"/{attempt}") + _query(run=run)
        return EnrichedVerdict.model_validate_json(self.transport.call("GET", path).body)

    def verdicts(self, **query: str | int | None) -> VerdictPage:
        """One page of stored verdicts; ``query`` takes the fields of ``model.VerdictQuery``."""
        return VerdictPage.model_validate_json(self.transport.call("GET", f"/v2/verdict{_query(**query)}").body)

    def judge(self, cluster: str, job_id: str, attempt: int, request: FeedbackRequest) -> Feedback:
        """Say whether a stored verdict was right."""
        path, body = f"{_job(cluster, job_id)}/{attempt}/feedback", request.model_dump_json(exclude_none=True)
        reply = self.transport.call("POST", path, body.encode(), _typed(), repeatable=False)
        return Feedback.model_validate_json(reply.body)

    def health(self) -> Health:
        """Versions of the service."""
        return Health.model_validate_json(self.transport.call("GET", "/v2/health").body)


def _typed(content_type: str = _JSON) -> dict[str, str]:
    return {"Content-Type": content_type}


def _session(attributor_id: str) -> str:
    return f"/v2/attributor/{quote(attributor_id, safe='')}"


def _job(cluster: str, job_id: str) -> str:
    return f"/v2/verdict/{quote(cluster, safe='')}/{quote(job_id, safe='')}"


def _query(**parameters: str | int | None) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""
