"""Which path is which page. One table; what is not in it is not found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

__all__ = ["PARAMETERS", "Place", "Shape", "route"]


class Place(StrEnum):
    """What is asked for."""

    RUNS = "runs"
    JOB = "job"
    """The search by job id: a redirection."""
    LATEST = "latest"
    """The latest attempt of a job: a redirection."""
    VERDICT = "verdict"
    JUDGE = "judge"
    """The form below a verdict: the one write."""
    FLEET = "fleet"
    RULES = "rules"
    RULE = "rule"
    WALKTHROUGH = "walkthrough"
    SAMPLE = "sample"
    FEEDBACK = "feedback"
    ASSET = "asset"


class Shape(StrEnum):
    """In which form."""

    HTML = "html"
    JSON = "json"
    """The twin: the page's context."""
    RAW = "raw"
    """The stored verdict itself."""
    MARKDOWN = "markdown"
    ZIP = "zip"


@dataclass(frozen=True, slots=True)
class _Route:
    pattern: re.Pattern[str]
    place: Place
    shape: Shape = Shape.HTML
    method: str = "GET"


def _path(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\?P)<(\w+)>", r"(?P<\1>[^/]+)", pattern))


_VERDICT = "/verdict/<cluster>/<job_id>/(?P<attempt>\\d{1,6})"
_ROUTES = (
    _Route(_path("/"), Place.RUNS),
    _Route(_path("/index\\.json"), Place.RUNS, Shape.JSON),
    _Route(_path("/job"), Place.JOB),
    _Route(_path("/verdict/<cluster>/<job_id>"), Place.LATEST),
    _Route(_path(_VERDICT), Place.VERDICT),
    _Route(_path(f"{_VERDICT}\\.json"), Place.VERDICT, Shape.JSON),
    _Route(_path(f"{_VERDICT}\\.md"), Place.VERDICT, Shape.MARKDOWN),
    _Route(_path(f"{_VERDICT}/raw\\.json"), Place.VERDICT, Shape.RAW),
    _Route(_path(f"{_VERDICT}/feedback"), Place.JUDGE, method="POST"),
    _Route(_path("/fleet"), Place.FLEET),
    _Route(_path("/fleet\\.json"), Place.FLEET, Shape.JSON),
    _Route(_path("/rules"), Place.RULES),
    _Route(_path("/rules\\.json"), Place.RULES, Shape.JSON),
    _Route(_path("/rules/(?P<name>[^/]+)\\.json"), Place.RULE, Shape.JSON),
    _Route(_path("/rules/<name>"), Place.RULE),
    _Route(_path("/walkthrough"), Place.WALKTHROUGH),
    _Route(_path("/walkthrough\\.json"), Place.WALKTHROUGH, Shape.JSON),
    _Route(_path("/walkthrough/(?P<slug>[^/]+)\\.json"), Place.SAMPLE, Shape.JSON),
    _Route(_path("/walkthrough/<slug>"), Place.SAMPLE),
    _Route(_path("/feedback"), Place.FEEDBACK),
    _Route(_path("/feedback\\.json"), Place.FEEDBACK, Shape.JSON),
    _Route(_path("/feedback/cases\\.zip"), Place.FEEDBACK, Shape.ZIP),
    _Route(_path("/static/<name>"), Place.ASSET),
)
PARAMETERS: dict[Place, frozenset[str]] = {
    Place.RUNS: frozenset(
        {"cluster", "day", "since", "until", "sub_domain", "outcome", "node", "user", "text", "job", "cursor", "limit"}
    ),
    Place.JOB: frozenset({"id"}),
    Place.VERDICT: frozenset({"run"}),
    Place.FLEET: frozenset({"cluster", "days", "until"}),
    Place.RULES: frozenset({"text", "kind", "sub_domain", "used", "offset"}),
    Place.WALKTHROUGH: frozenset({"sample", "step"}),
    Place.SAMPLE: frozenset({"step"}),
    Place.FEEDBACK: frozenset({"cluster", "judgement"}),
    Place.ASSET: frozenset({"v"}),
}
"""The query parameters that each place takes."""


def route(method: str, path: str) -> tuple[Place, Shape, dict[str, str]] | str | None:
    """(place, shape, parts of the path), the method that the path takes instead, or None.

    ``path`` is raw: what a part matches may be percent-encoded.
    """
    asked = "GET" if method == "HEAD" else method
    other = None
    for each in _ROUTES:
        found = each.pattern.fullmatch(path)
        if found and each.method == asked:
            return each.place, each.shape, {name: unquote(part) for name, part in found.groupdict().items()}
        if found:
            other = each.method
    return other
