"""Bodies as they come through the gateway, back to the bytes that the client sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from attribution_lib.errors import Fault
from attribution_lib.parsing.limits import unpack
from attribution_service.deliver import refusals
from attribution_service.errors import InvalidRequestError, TooLargeError, UnsupportedMediaError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["json_body", "raw_body", "require_known_encoding"]

_JSON = "application/json"
_ENCODINGS = ("", "identity", "gzip", "x-gzip")


def raw_body(event: Mapping[str, Any]) -> bytes:
    """The body's bytes, still compressed if they are; the gateway sends Base64 or, of texts, the text itself."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return convert(body, bytes)  # as strict as base64.b64decode, in a quarter of the time
    except ValidationError:
        fault = Fault("body", "", "is not Base64 although the gateway says so", "Base64")
        raise InvalidRequestError("the body cannot be read", [fault]) from None


def json_body(event: Mapping[str, Any], headers: Mapping[str, str], limit: int) -> bytes:
    """The unpacked body of a JSON request of at most ``limit`` bytes; ``UnsupportedMediaError``, ``TooLargeError``."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", _JSON):
        raise UnsupportedMediaError(f"{kind[:100]!r} is not taken", accepted=[_JSON])
    require_known_encoding(headers)
    body = raw_body(event)
    if len(body) > limit:
        raise TooLargeError(f"the body has {len(body)} bytes", limit=limit)
    with refusals():
        return unpack(body, limit)


def require_known_encoding(headers: Mapping[str, str]) -> None:
    """``UnsupportedMediaError`` for another encoding than gzip; whether there is gzip is read from the body itself."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise UnsupportedMediaError(f"encoding {encoding[:100]!r} is not taken", accepted=["gzip", "identity"])
