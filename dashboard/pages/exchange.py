"""One request and its answer, apart from how they travel: the gateway's events and tests make the same values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_service.service import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.service import Caller

__all__ = ["PageAnswer", "PageRequest"]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a browser asks for."""

    method: str
    path: str
    """Decoded, without the base path and the query."""
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    caller: Caller = EVERYTHING
    base: str = ""
    """What stands before every path of this site: ``/prod`` on a stage of that name."""

    def one(self, name: str) -> str:
        """The last value of a query parameter, without blanks around it; empty when there is none."""
        return (self.query.get(name) or ("",))[-1].strip()


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What the browser gets; ``cookies`` are whole ``Set-Cookie`` values."""

    status: int
    body: bytes
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
