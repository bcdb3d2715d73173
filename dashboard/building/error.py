"""An error as a page."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from attribution_lib.version import __version__
from attribution_service.times import rfc3339
from dashboard.contexts.error import ErrorContext
from dashboard.contexts.model import Fact, PageName

if TYPE_CHECKING:
    from attribution_service.errors import ServiceError

__all__ = ["error_context", "unknown_page"]

_ADVICE = {
    403: "Ask for access to this cluster, or choose one of yours.",
    404: "Check the cluster, the job id and the attempt; look for the job among the runs.",
    422: "Correct what is named below and ask again.",
    503: "Try again in a moment.",
}
_ADVICE_ON = {
    "foreign-form": "Open the verdict again and send the judgement there; the browser must accept this site's cookie.",
}
"""By slug, where the status alone says too little."""
_MORE = "Go back and try again; if it stays, look at the program's log."


def error_context(error: ServiceError, now: float) -> ErrorContext:
    """The page of an error of the service; ``now`` is seconds since the epoch."""
    faults = error.extras.get("faults", ())
    shown = tuple(
        Fact(
            name=str(fault["field"]),
            value=str(fault["problem"]) + (f"; expected {fault['expected']}" if fault.get("expected") else ""),
        )
        for fault in faults
    )
    plain = _context(error.status, error.detail, now, title=error.title)
    return plain.model_copy(update={"faults": shown, "advice": _ADVICE_ON.get(error.slug, plain.advice)})


def unknown_page(path: str, now: float) -> ErrorContext:
    """The page for an address that leads nowhere."""
    return _context(int(HTTPStatus.NOT_FOUND), f"There is no page {path[:200]!r}.", now, title="Not found")


def _context(status: int, problem: str, now: float, *, title: str) -> ErrorContext:
    return ErrorContext(
        page=PageName.ERROR,
        title=title,
        store="",
        version=__version__,
        made_at=rfc3339(now),
        status=status,
        problem=problem,
        advice=_ADVICE.get(status, _MORE),
        faults=(),
    )
