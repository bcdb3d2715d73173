"""One error envelope: ``application/problem+json`` (RFC 9457), the same for every route and every refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import Response

from attribution_service.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PROBLEM_JSON", "problem", "problem_document", "problem_type", "slugs"]

PROBLEM_JSON = "application/problem+json"
_TYPE = "urn:problem-type:attribution:"
_BUSY = 503


def problem(error: ServiceError, request_id: str) -> Response[str]:
    """The answer to a refused request."""
    headers = {"Retry-After": "2"} if error.status == _BUSY else {}
    body = json.dumps(problem_document(error, request_id))
    return Response(error.status, content_type=PROBLEM_JSON, body=body, headers=headers)


def problem_document(error: ServiceError, request_id: str) -> dict[str, Any]:
    """The members of a problem; ``request_id`` is what the log lines of the request carry as ``correlation_id``."""
    document = {
        "type": problem_type(error.slug),
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "request_id": request_id,
    }
    return document | {name: value for name, value in error.extras.items() if name not in document}


def problem_type(slug: str) -> str:
    """The stable URI of a kind of problem."""
    return f"{_TYPE}{slug}"


def slugs() -> dict[str, tuple[int, str]]:
    """{slug: (status, title)} of every problem there is."""
    return {kind.slug: (kind.status, kind.title) for kind in _kinds(ServiceError)}


def _kinds(kind: type[ServiceError]) -> Iterator[type[ServiceError]]:
    yield kind
    for lower in kind.__subclasses__():
        yield from _kinds(lower)
