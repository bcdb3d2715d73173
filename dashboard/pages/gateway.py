"""Events of an HTTP API (format 2.0) to requests for pages, and answers back; the local server sends the same."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

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
    return bool(_claims(event))


def read_event(event: Mapping[str, Any], access: Access) -> PageRequest:
    """The request of an event; its path stays percent-encoded where the gateway leaves it so."""
    context = event.get("requestContext") or {}
    stage = str(context.get("stage") or _DEFAULT_STAGE)
    path = str(event.get("rawPath") or "/")
    base = f"/{stage}" if path == f"/{stage}" or path.startswith(f"/{stage}/") else ""
    many = parse_qs(str(event.get("rawQueryString") or ""), keep_blank_values=True, errors="replace")
    headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    if event.get("cookies"):
        headers["cookie"] = "; ".join(map(str, event["cookies"]))
    claims = _claims(event)
    return PageRequest(
        method=str((context.get("http") or {}).get("method") or "GET").upper(),
        path=path.removeprefix(base) or "/",
        query={name: tuple(values) for name, values in many.items()},
        headers=headers,
        body=_body(event),
        caller=caller_of({"requestContext": {"authorizer": {"claims": claims}}} if claims else {}, access),
        base=base,
    )


def _claims(event: Mapping[str, Any]) -> dict[str, str]:
    """The token's claims; a list among them comes as ``[prod dev]``."""
    jwt = ((event.get("requestContext") or {}).get("authorizer") or {}).get("jwt") or {}
    return {str(name): str(value).strip("[]") for name, value in (jwt.get("claims") or {}).items()}


def proxy_answer(answer: PageAnswer, *, with_body: bool = True) -> dict[str, Any]:
    """The answer as the gateway takes it; what is no text goes as Base64."""
    text = answer.content_type.startswith(_TEXTS)
    body = (answer.body.decode() if text else base64.b64encode(answer.body).decode()) if with_body else ""
    made = {"statusCode": answer.status, "headers": {"Content-Type": answer.content_type, **answer.headers}}
    return {**made, "cookies": list(answer.cookies), "body": body, "isBase64Encoded": not text}


def _body(event: Mapping[str, Any]) -> bytes:
    body = str(event.get("body") or "")
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "replace")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b""
