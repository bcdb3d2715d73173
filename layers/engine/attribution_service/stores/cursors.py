"""Cursors of pages: opaque to clients, checked when they come back."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError

__all__ = ["decode_cursor", "encode_cursor"]


def encode_cursor(parts: list[Any]) -> str:
    """An opaque text for a position."""
    text = json.dumps(parts, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kinds: tuple[type[Any], ...]) -> list[Any]:
    """The position of a cursor that must hold values of these types; ``InvalidRequestError`` for anything else."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        parts = None
    fits = isinstance(parts, list) and len(parts) == len(kinds)
    if not fits or any(type(part) is not kind for part, kind in zip(parts, kinds, strict=True)):
        fault = Fault("cursor", "", "not one of this listing", "the cursor of the page before, unchanged")
        raise InvalidRequestError("the cursor is not valid", [fault])
    return list(parts)
