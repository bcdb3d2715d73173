"""From a request to its answer. Reads through the port, writes one judgement through it, keeps nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from attribution_service.errors import InvalidRequestError, NotFoundError, ServiceError
from dashboard.building.error import error_context
from dashboard.pages.exchange import PageAnswer, PageRequest
from dashboard.pages.problems import method_error, parameter_faults
from dashboard.pages.render import Page, rendered
from dashboard.pages.routes import PARAMETERS, Place, Shape, route
from dashboard.pages.security import SECURITY_HEADERS
from dashboard.pages.static import asset_answer
from dashboard.pages.views import VIEWS

if TYPE_CHECKING:
    from dashboard.pages.library import Library

__all__ = ["answer"]

_log = logging.getLogger("attribution")
_FAILED = 500
_NOT_MODIFIED = 304
_PRIVATE = "private, no-cache"


def answer(library: Library, request: PageRequest) -> PageAnswer:
    """The answer to any request; a failure of ours is a page too, and logged."""
    try:
        made = _answered(library, request)
    except ServiceError as error:
        if error.status >= _FAILED:
            _log.exception("a page failed")
        made = _problem(library, request, error)
    except Exception:  # noqa: BLE001 -- a defect of ours costs one page, and stands in the log
        _log.exception("a page failed")
        made = _problem(library, request, ServiceError("This page could not be made; the log says why."))
    return _finished(request, made)


def _answered(library: Library, request: PageRequest) -> PageAnswer:
    found = route(request.method, request.path)
    if isinstance(found, str):
        raise method_error(found)
    if found is None:
        raise NotFoundError("There is no such page.")
    place, shape, parts = found
    faults = parameter_faults(request.query, PARAMETERS.get(place, frozenset()))
    if faults:
        raise InvalidRequestError("The address has parameters that this page does not take.", faults)
    if place is Place.ASSET:
        return asset_answer(parts["name"], known=bool(request.one("v")))
    return VIEWS[place](library, request, shape, parts)


def _problem(library: Library, request: PageRequest, error: ServiceError) -> PageAnswer:
    """The page of an error, or its twin where JSON was asked for."""
    found = route(request.method, request.path)
    wants_json = isinstance(found, tuple) and found[1] in (Shape.JSON, Shape.RAW)
    shape = Shape.JSON if wants_json else Shape.HTML
    context = error_context(error, library.clock())
    made = rendered(request, shape, Page(context, "error.html"), status=error.status)
    allow = error.extras.get("allow")
    return made if allow is None else PageAnswer(made.status, made.body, made.content_type, {"Allow": str(allow)})


def _finished(request: PageRequest, made: PageAnswer) -> PageAnswer:
    """With the fixed headers; a page that the browser has already is not sent again."""
    headers = {**SECURITY_HEADERS, "Cache-Control": _PRIVATE, "Vary": "Cookie, Authorization", **made.headers}
    if headers.get("ETag", "none") in request.headers.get("if-none-match", ""):
        return PageAnswer(_NOT_MODIFIED, b"", made.content_type, headers)
    return PageAnswer(made.status, made.body, made.content_type, headers, made.cookies)
