"""Events of API Gateway (proxy format 1.0) to requests for pages, and answers back; the local server sends the same."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from attribution_service.http.access import caller_of
from dashboard.pages.exchange import PageRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.access import Access
    from dashboard.pages.exchange import PageAnswer

__all__ = ["has_claims", "proxy_answer", "read_event"]

_DEFAULT_STAGE = "$default"
_TEXTS = ("text/", "application/json", "image/svg")


def has_claims(event: Mapping[str, Any]) -> bool:
    """Whether an authorizer vouches for the caller."""
    return bool(((event.get("requestContext") or {}).get("authorizer") or {}).get("claims"))


def read_event(event: Mapping[str, Any], access: Access) -> PageRequest:
    """The request of an event; its path stays percent-encoded."""
    context = event.get("requestContext") or {}
    stage = str(context.get("stage") or _DEFAULT_STAGE)
    path = str(event.get("path") or "/")
    base = f"/{stage}" if path == f"/{stage}" or path.startswith(f"/{stage}/") else ""
    many = event.get("multiValueQueryStringParameters") or {}
    headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    return PageRequest(
        method=str(event.get("httpMethod") or "GET").upper(),
        path=path.removeprefix(base) or "/",
        query={str(name): tuple(map(str, values)) for name, values in many.items()},
        headers=headers,
        body=_body(event),
        caller=caller_of(event, access),
        base=base,
    )


def proxy_answer(answer: PageAnswer, *, with_body: bool = True) -> dict[str, Any]:
    """The answer as the gateway takes it; what is no text goes as Base64."""
    text = answer.content_type.startswith(_TEXTS)
    body = (answer.body.decode() if text else base64.b64encode(answer.body).decode()) if with_body else ""
    headers = {"Content-Type": [answer.content_type], **{name: [value] for name, value in answer.headers.items()}}
    if answer.cookies:
        headers["Set-Cookie"] = list(answer.cookies)
    return {"statusCode": answer.status, "multiValueHeaders": headers, "body": body, "isBase64Encoded": not text}


def _body(event: Mapping[str, Any]) -> bytes:
    body = str(event.get("body") or "")
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "replace")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b""
