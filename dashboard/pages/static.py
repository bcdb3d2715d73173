"""Answers of the static files."""

from __future__ import annotations

from attribution_service.errors import NotFoundError
from dashboard.pages.assets import assets
from dashboard.pages.exchange import PageAnswer

__all__ = ["asset_answer"]

_FOR_EVER = "public, max-age=31536000, immutable"
_AN_HOUR = "public, max-age=3600"


def asset_answer(name: str, *, known: bool) -> PageAnswer:
    """A file; kept for ever under an address with its version."""
    found = assets().get(name)
    if found is None:
        raise NotFoundError("There is no such file.")
    return PageAnswer(200, found.body, found.content_type, {"Cache-Control": _FOR_EVER if known else _AN_HOUR})
