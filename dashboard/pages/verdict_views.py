"""The page of a verdict in its shapes, and the one write: a judgement on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from attribution_lib.taxonomy import Outcome
from attribution_service.errors import InvalidRequestError, TooLargeError
from attribution_service.model import FeedbackRequest, VerdictKey
from attribution_service.requests import validated
from dashboard.building.verdict import verdict_context
from dashboard.pages.exchange import PageAnswer
from dashboard.pages.problems import form_error
from dashboard.pages.render import JSON, Page, links_of, rendered
from dashboard.pages.routes import Shape
from dashboard.pages.security import TOKEN_FIELD, form_token, may_write, token_cookie
from dashboard.picture.layout import draw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.contexts.verdict import VerdictContext
    from dashboard.pages.exchange import PageRequest
    from dashboard.pages.library import Library

__all__ = ["judge", "verdict"]

_SEE_OTHER = 303
_FORM_BYTES = 32_768
_FORM_TYPE = "application/x-www-form-urlencoded"
_FIELDS = ("judgement", "run_id", "outcome", "node", "comment", "author")


@dataclass(frozen=True, slots=True)
class _Form:
    """What stands in the form for a judgement."""

    judgement: str = ""
    outcome: str = ""
    node: str = ""
    comment: str = ""
    author: str = ""


def verdict(library: Library, request: PageRequest, shape: Shape, parts: Mapping[str, str]) -> PageAnswer:
    """The page, its twin, the verdict itself, or the text for a ticket."""
    site = library.site(request.caller)
    key = _key(parts, request.one("run"))
    if shape is Shape.RAW:
        return PageAnswer(200, site.reader.verdict(key).model_dump_json(by_alias=True).encode(), JSON)
    context = verdict_context(site, key)
    if shape is Shape.MARKDOWN:
        return PageAnswer(200, context.markdown.encode("utf-8", "replace"), "text/markdown; charset=utf-8")
    return _shown(request, shape, context)


def judge(library: Library, request: PageRequest, _: Shape, parts: Mapping[str, str]) -> PageAnswer:
    """Store a judgement and go back to the verdict, where it now stands; a form that is not ours is refused."""
    fields = _form(request)
    if not may_write(request, fields.pop(TOKEN_FIELD, "")):
        raise form_error()
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise InvalidRequestError(f"The form has fields that are not taken: {', '.join(unknown)[:200]}.")
    given = {name: value.strip() for name, value in fields.items() if value.strip()}
    key = _key(parts, given.get("run_id", ""))
    library.site(request.caller).reader.add_feedback(key, validated(FeedbackRequest, given))
    at = links_of(request)
    address = f"{at.verdict(key.cluster, key.job_id, int(parts['attempt']), key.run_id or '')}#feedback"
    return PageAnswer(_SEE_OTHER, b"", headers={"Location": address, "Cache-Control": "no-store"})


def _shown(request: PageRequest, shape: Shape, context: VerdictContext) -> PageAnswer:
    job, token = context.job, form_token(request)
    twin = links_of(request).verdict(job.cluster, job.job_id, job.attempt, request.one("run"), ".json")
    more = {
        "drawing": draw(context.chain),
        "cells": {(cell.row, cell.column): cell for cell in context.pairs.cells} if context.pairs else {},
        "outcomes": tuple(Outcome),
        "token": token,
        "form": _Form(),
    }
    cookies = token_cookie(request, token) if context.feedback_open else ()
    page = Page(context, "verdict.html", twin.removeprefix(request.base), more, cookies)
    return rendered(request, shape, page)


def _key(parts: Mapping[str, str], run: str) -> VerdictKey:
    named = {"cluster": parts["cluster"], "job_id": parts["job_id"], "attempt": parts["attempt"]}
    return validated(VerdictKey, {**named, **({"run_id": run} if run else {})})


def _form(request: PageRequest) -> dict[str, str]:
    """The fields of the form; repeated ones are refused like anything else that our form does not send."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        raise InvalidRequestError(f"A judgement is sent as a form ({_FORM_TYPE}); programs use the v2 API.")
    if len(request.body) > _FORM_BYTES:
        raise TooLargeError(f"The form has {len(request.body)} bytes.", limit=_FORM_BYTES)
    try:
        fields = parse_qs(request.body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise InvalidRequestError("The form has too many fields.") from None
    if any(len(values) > 1 for values in fields.values()):
        raise InvalidRequestError("The form has a field more than once.")
    return {name: values[0] for name, values in fields.items()}
