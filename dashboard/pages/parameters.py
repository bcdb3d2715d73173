"""Parameters of a query, and the address of the twin that has the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError
from dashboard.pages.render import links_of

if TYPE_CHECKING:
    from dashboard.pages.exchange import PageRequest

__all__ = ["number", "twin_of"]


def number(request: PageRequest, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query; ``InvalidRequestError`` names the parameter."""
    text = request.one(name)
    if not text:
        return default
    if not text.isdecimal() or not low <= int(text) <= high:
        fault = Fault(name, "", f"{text[:60]!r}", f"a whole number from {low} to {high}")
        raise InvalidRequestError("The address is not valid.", [fault])
    return int(text)


def twin_of(request: PageRequest, path: str) -> str:
    """The twin with the query of this page."""
    query = {name: values[-1] for name, values in request.query.items()}
    return links_of(request).page(path, **query).removeprefix(request.base)
