"""The page of the walkthrough: a sample is run through the engine for it, here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.attributor import Attributor
from attribution_lib.observation import Source
from attribution_lib.tracing import trace
from attribution_service.errors import NotFoundError
from attribution_service.result import ConnectorReport, ConnectorStatus, enrich_attribution_result
from dashboard.building.coverage import coverage_of
from dashboard.building.headline import headline_of
from dashboard.building.markdown import verdict_markdown
from dashboard.building.symptoms import symptom_entries
from dashboard.contexts.model import PageName
from dashboard.contexts.walkthrough import WalkthroughContext, WalkthroughSample
from dashboard.walkthrough.steps import steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Observation
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.tracing import Trace
    from attribution_service.result import EnrichedVerdict
    from dashboard.contexts.walkthrough import WalkthroughStep
    from dashboard.site import Sample, Site

__all__ = ["sample_steps", "walkthrough_context"]

_RUN = "walkthrough"
_SYMPTOMS = 200


def walkthrough_context(site: Site, slug: str) -> WalkthroughContext:
    """A sample from its events to its verdict; ``NotFoundError`` for an unknown one, or where no rules run."""
    sample = next((sample for sample in site.samples if sample.slug == slug), None)
    engine = site.rules()
    if sample is None or engine is None:
        msg = "There is no such sample." if sample is None else "No rules run here to walk through."
        raise NotFoundError(msg)
    verdict, steps = sample_steps(sample, engine)
    headline = headline_of(verdict)
    symptoms = symptom_entries(verdict.symptoms, engine, _SYMPTOMS)
    return WalkthroughContext(
        **site.page(PageName.WALKTHROUGH, f"Walkthrough: {sample.title}"),
        samples=tuple(_choice(each, slug) for each in site.samples),
        slug=slug,
        story=sample.story,
        lines=verdict.evidence.lines,
        steps=steps,
        headline=headline,
        markdown=verdict_markdown(verdict, headline, coverage_of(verdict), symptoms),
    )


def sample_steps(sample: Sample, engine: RuleEngine) -> tuple[EnrichedVerdict, tuple[WalkthroughStep, ...]]:
    """The verdict of a sample, and what each phase of the engine did on the way to it."""
    job, observations = sample.load()
    traced = _traced(job, observations, engine)
    verdict = _enriched(job, observations, traced)
    return verdict, steps_of(traced, verdict)


def _choice(sample: Sample, slug: str) -> WalkthroughSample:
    return WalkthroughSample(slug=sample.slug, title=sample.title, shown=sample.slug == slug)


def _traced(job: JobInfo, observations: Sequence[Observation], engine: RuleEngine) -> Trace:
    with Attributor(job, engine) as attributor:
        attributor.ingest_batch(observations)
        return trace(attributor)


def _enriched(job: JobInfo, observations: Sequence[Observation], traced: Trace) -> EnrichedVerdict:
    return enrich_attribution_result(
        traced.verdict,
        attributor_id=f"{job.cluster}:{job.job_id}:{job.attempt}",
        run_id=_RUN,
        attributed_at=None,
        connector_reports=[_report(observation) for observation in observations],
    )


def _report(observation: Observation) -> ConnectorReport:
    metrics = observation.source is Source.NODE_METRICS
    return ConnectorReport(
        connector="sample",
        instance=observation.stream,
        source=observation.source.value,
        status=ConnectorStatus.OK,
        observation_count=1,
        lines=len(observation.series) if metrics else observation.text.count(b"\n"),
    )
