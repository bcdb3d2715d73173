"""One function a place: parameters in, a page out. What a page holds is the builders' matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.fields import is_identifier
from attribution_service.errors import NotFoundError
from attribution_service.model import VerdictKey
from attribution_service.requests import validated
from attribution_service.times import SECONDS_A_DAY, day_of
from dashboard.building.feedback import feedback_context
from dashboard.building.runs import SoughtJob, runs_context
from dashboard.contexts.feedback import FeedbackFilters
from dashboard.contexts.runs import RunsFilters
from dashboard.pages.archive import cases_archive
from dashboard.pages.exchange import PageAnswer
from dashboard.pages.parameters import number, twin_of
from dashboard.pages.reference_views import fleet, rule, rules, walkthrough
from dashboard.pages.render import Page, links_of, rendered
from dashboard.pages.routes import Place, Shape
from dashboard.pages.verdict_views import judge, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dashboard.pages.exchange import PageRequest
    from dashboard.pages.library import Library
    from dashboard.reading import VerdictReader

__all__ = ["VIEWS"]

_SEE_OTHER = 303
_RECENT = (("since yesterday", 1), ("the last 7 days", 7), ("the last 30 days", 30))
"""Where a store lists by cluster and time only, the listings to choose from."""
_MANY = 500


def _runs(library: Library, request: PageRequest, shape: Shape, _: Mapping[str, str]) -> PageAnswer:
    site = library.site(request.caller)
    names = RunsFilters.model_fields
    filters = RunsFilters(**{name: request.one(name) for name in names})
    sought = _sought(site.reader, request.one("job"), filters.text)
    context = runs_context(site, filters, request.one("cursor"), number(request, "limit", 50, 1, _MANY), sought)
    recent = tuple((text, day_of(int(library.clock()) - days * SECONDS_A_DAY)) for text, days in _RECENT)
    page = Page(context, "runs.html", twin_of(request, "/index.json"), {"recent": recent})
    return rendered(request, shape, page)


def _job(library: Library, request: PageRequest, _: Shape, __: Mapping[str, str]) -> PageAnswer:
    """To the verdict on a job, whichever of the caller's clusters it is in; to a search where several are."""
    job_id = request.one("id")
    site, at = library.site(request.caller), links_of(request)
    found = _found(site.reader, job_id) if is_identifier(job_id) else []
    if len(found) == 1:
        return _to(at.verdict(found[0], job_id, _latest(site.reader, found[0], job_id)))
    if found or site.reader.capabilities.text:
        return _to(at.runs(text=job_id, job=job_id))
    raise NotFoundError(f"There is no stored verdict on a job {job_id[:200]!r}.{_still_open(library, request, job_id)}")


def _still_open(library: Library, request: PageRequest, job_id: str) -> str:
    """Where evidence of the job may lie that nobody has stored a verdict on yet."""
    names = library.open_sessions(request.caller, job_id) if is_identifier(job_id) else ()
    if not names:
        return ""
    return f" An open session holds its evidence: attribution keep {' '.join(names)} stores its verdict."


def _latest_verdict(library: Library, request: PageRequest, _: Shape, parts: Mapping[str, str]) -> PageAnswer:
    key = validated(VerdictKey, dict(parts))
    reader = library.site(request.caller).reader
    return _to(links_of(request).verdict(key.cluster, key.job_id, _latest(reader, key.cluster, key.job_id)))


def _feedback(library: Library, request: PageRequest, shape: Shape, _: Mapping[str, str]) -> PageAnswer:
    filters = FeedbackFilters(cluster=request.one("cluster"), judgement=request.one("judgement"))
    context = feedback_context(library.site(request.caller), filters)
    if shape is Shape.ZIP:
        return cases_archive(context.cases)
    return rendered(request, shape, Page(context, "feedback.html", twin_of(request, "/feedback.json")))


def _sought(reader: VerdictReader, job_id: str, text: str) -> SoughtJob | None:
    """The job that the listing was searched for instead; None when the words were changed since."""
    if not job_id or job_id != text:
        return None
    return SoughtJob(job_id, tuple(_found(reader, job_id)) if is_identifier(job_id) else ())


def _found(reader: VerdictReader, job_id: str) -> list[str]:
    """The clusters with a verdict on a job of this id."""
    return [name for name in reader.clusters() if reader.runs(VerdictKey(cluster=name, job_id=job_id))]


def _latest(reader: VerdictReader, cluster: str, job_id: str) -> int:
    runs = reader.runs(VerdictKey(cluster=cluster, job_id=job_id))
    if not runs:
        raise NotFoundError(f"There is no verdict on job {job_id!r} of cluster {cluster!r}.")
    return runs[0].attempt


def _to(address: str) -> PageAnswer:
    return PageAnswer(_SEE_OTHER, b"", headers={"Location": address, "Cache-Control": "no-store"})


VIEWS: Mapping[Place, Callable[[Library, PageRequest, Shape, Mapping[str, str]], PageAnswer]] = {
    Place.RUNS: _runs,
    Place.JOB: _job,
    Place.LATEST: _latest_verdict,
    Place.VERDICT: verdict,
    Place.JUDGE: judge,
    Place.FLEET: fleet,
    Place.RULES: rules,
    Place.RULE: rule,
    Place.WALKTHROUGH: walkthrough,
    Place.SAMPLE: walkthrough,
    Place.FEEDBACK: _feedback,
}
"""Every place but the static files."""
