"""The pages that stand beside verdicts: the fleet, the rules, the walkthrough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError, NotFoundError
from dashboard.building.fleet import MAX_FLEET_DAYS, fleet_context
from dashboard.building.rules import rule_context, rules_context
from dashboard.building.walkthrough import walkthrough_context
from dashboard.contexts.fleet import FleetFilters
from dashboard.contexts.rules import RulesFilters
from dashboard.pages.parameters import number, twin_of
from dashboard.pages.render import Page, links_of, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.pages.exchange import PageAnswer, PageRequest
    from dashboard.pages.library import Library
    from dashboard.pages.routes import Shape

__all__ = ["fleet", "rule", "rules", "walkthrough"]


def fleet(library: Library, request: PageRequest, shape: Shape, _: Mapping[str, str]) -> PageAnswer:
    """Repeat offenders, cohorts, cost and mean time between failures."""
    filters = FleetFilters(
        cluster=request.one("cluster"), days=number(request, "days", 30, 1, MAX_FLEET_DAYS), until=request.one("until")
    )
    context = fleet_context(library.site(request.caller), filters)
    return rendered(
        request, shape, Page(context, "fleet.html", twin_of(request, "/fleet.json"), {"most_days": MAX_FLEET_DAYS})
    )


def rules(library: Library, request: PageRequest, shape: Shape, _: Mapping[str, str]) -> PageAnswer:
    """The searchable list."""
    filters = RulesFilters(
        text=request.one("text"),
        kind=request.one("kind"),
        sub_domain=request.one("sub_domain"),
        used=request.one("used") == "true",
    )
    context = rules_context(library.site(request.caller), filters, number(request, "offset", 0, 0, 1_000_000))
    return rendered(request, shape, Page(context, "rules.html", twin_of(request, "/rules.json")))


def rule(library: Library, request: PageRequest, shape: Shape, parts: Mapping[str, str]) -> PageAnswer:
    """One rule."""
    context = rule_context(library.site(request.caller), parts["name"])
    twin = links_of(request).rule(parts["name"], ".json").removeprefix(request.base)
    return rendered(request, shape, Page(context, "rule.html", twin))


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
