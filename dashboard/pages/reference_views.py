"""The pages that stand beside verdicts: the fleet, the rules, the walkthrough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError, NotFoundError
from dashboard.building.walkthrough import walkthrough_context
from dashboard.pages.render import Page, links_of, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.pages.exchange import PageAnswer, PageRequest
    from dashboard.pages.library import Library
    from dashboard.pages.routes import Shape

__all__ = ["walkthrough"]


def walkthrough(library: Library, request: PageRequest, shape: Shape, parts: Mapping[str, str]) -> PageAnswer:
    """One sample at one of its steps."""
    site = library.site(request.caller, walkthrough=True)
    if not site.samples:
        raise NotFoundError("There are no samples here to walk through.")
    slug = parts.get("slug") or request.one("sample") or site.samples[0].slug
    context = walkthrough_context(site, slug)
    phases = [step.phase.value for step in context.steps]
    asked = request.one("step") or phases[0]
    if asked not in phases:
        raise InvalidRequestError("There is no such step.", [Fault("step", "", asked[:100], ", ".join(phases))])
    twin = links_of(request).sample(slug).removeprefix(request.base) + ".json"
    more = {"position": phases.index(asked)}
    return rendered(request, shape, Page(context, "walkthrough.html", twin, more))
