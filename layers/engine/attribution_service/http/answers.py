"""Answers of the routes that succeed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import Response
from pydantic_core import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

__all__ = ["accepted", "created", "no_content", "not_modified", "ok", "ok_bytes", "session_path"]

_JSON = "application/json"


def ok(body: BaseModel | Mapping[str, Any]) -> Response[str]:
    """200 with a model or a plain JSON object."""
    return Response(200, content_type=_JSON, body=to_json(body, by_alias=True).decode())


def ok_bytes(body: bytes, *, etag: str) -> Response[str]:
    """200 with JSON that is already written, and its version."""
    return Response(200, content_type=_JSON, body=body.decode(), headers={"ETag": _quoted(etag)})


def created(body: BaseModel, *, location: str = "") -> Response[str]:
    """201, and where what was made can be found."""
    headers = {"Location": location} if location else {}
    return Response(201, content_type=_JSON, body=to_json(body, by_alias=True).decode(), headers=headers)


def accepted(retry_after: int) -> Response[str]:
    """202: the same request gives the answer later."""
    body = to_json({"status": "pending", "retry_after": retry_after}).decode()
    return Response(202, content_type=_JSON, body=body, headers={"Retry-After": str(retry_after)})


def no_content() -> Response[str]:
    """204."""
    return Response(204, body="")


def not_modified(etag: str) -> Response[str]:
    """304: what the client has is what there is."""
    return Response(304, body="", headers={"ETag": _quoted(etag)})


def session_path(attributor_id: str) -> str:
    """Path of a session."""
    return f"/v2/attributor/{quote(attributor_id, safe=':')}"


def _quoted(etag: str) -> str:
    return f'"{etag}"'
