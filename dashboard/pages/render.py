"""A context becomes a page, or its JSON twin."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dashboard.pages.assets import versions
from dashboard.pages.exchange import PageAnswer
from dashboard.pages.links import Links
from dashboard.pages.routes import Shape
from dashboard.pages.templates import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.contexts.model import PageContext
    from dashboard.pages.exchange import PageRequest

__all__ = ["JSON", "Page", "links_of", "rendered"]

JSON = "application/json"
_OK = 200


@dataclass(frozen=True, slots=True)
class Page:
    """What a view gives."""

    context: PageContext
    template: str
    twin: str = ""
    """Path of the JSON twin with its query, without the base; empty when there is none."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What the template needs beside the context: drawings and the state of forms. The twin does not have it."""
    cookies: tuple[str, ...] = ()


def links_of(request: PageRequest) -> Links:
    """The addresses of this site as this request sees them."""
    return Links(request.base, versions())


def rendered(request: PageRequest, shape: Shape, page: Page, *, status: int = 200) -> PageAnswer:
    """The page in the form that was asked for."""
    headers = {} if status != _OK or page.cookies else {"ETag": _version(shape, page)}
    if shape is Shape.JSON:
        return PageAnswer(status, page.context.model_dump_json().encode(), JSON, headers)
    at = links_of(request)
    twin = at.page(page.twin) if page.twin else ""
    template = environment().get_template(page.template)
    text = template.render(context=page.context, at=at, twin=twin, **page.more)
    return PageAnswer(status, text.encode("utf-8", "replace"), headers=headers, cookies=page.cookies)


def _version(shape: Shape, page: Page) -> str:
    """A weak tag of what the page says, when it was made aside; another program's page is another version."""
    said = page.context.model_copy(update={"made_at": ""}).model_dump_json()
    parts = (shape.value, page.template, said, repr(sorted(versions().items())), str(page.more))
    return f'W/"{sha256("".join(parts).encode("utf-8", "replace")).hexdigest()[:32]}"'
