"""The page of one verdict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dashboard.building.chain import chain_picture
from dashboard.building.coverage import coverage_of, diagnostics_of, versions_of
from dashboard.building.feedback import feedback_entry
from dashboard.building.headline import headline_of
from dashboard.building.job import job_facts, run_facts
from dashboard.building.markdown import verdict_markdown
from dashboard.building.pairs import pair_matrix
from dashboard.building.symptoms import blamed_nodes, root_line, symptom_entries
from dashboard.contexts.model import Notice, NoticeLevel, PageName
from dashboard.contexts.verdict import AlternativeCause, DecidingEvidence, Detail, VerdictContext
from dashboard.reading import FeedbackQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.model import VerdictKey
    from attribution_service.result import EnrichedVerdict
    from dashboard.contexts.coverage import Coverage
    from dashboard.contexts.job import RunFacts
    from dashboard.site import Site

__all__ = ["verdict_context"]

_BAD_NODES = 100
_INTERESTING = 20
_SYMPTOMS = 200
_DETAIL = 8_000


def verdict_context(site: Site, key: VerdictKey) -> VerdictContext:
    """The latest verdict on a job's attempt, or that of one run; ``NotFoundError``."""
    verdict, engine = site.reader.verdict(key), site.rules()
    job, headline, coverage = job_facts(verdict), headline_of(verdict), coverage_of(verdict)
    of_attempt = key.model_copy(update={"attempt": job.attempt, "run_id": None})
    run = run_facts(verdict, site.reader.runs(of_attempt))
    judged = site.reader.feedback(FeedbackQuery(cluster=job.cluster, job_id=job.job_id, attempt=job.attempt))
    symptoms = symptom_entries(verdict.symptoms, engine, _SYMPTOMS)
    return VerdictContext(
        **site.page(PageName.VERDICT, f"Job {job.job_id}: {headline.what}", _notices(run, coverage)),
        job=job,
        run=run,
        headline=headline,
        root=root_line(verdict.root_cause, engine),
        bad_nodes=blamed_nodes(verdict.bad_nodes, verdict.history, _BAD_NODES),
        bad_nodes_total=verdict.bad_nodes_total,
        interesting_nodes=blamed_nodes(verdict.interesting_nodes, verdict.history, _INTERESTING),
        chain=chain_picture(verdict),
        symptoms=symptoms,
        symptoms_total=len(verdict.symptoms),
        alternatives=tuple(AlternativeCause(**row.model_dump()) for row in verdict.alternatives),
        needed_evidence=_needed(verdict),
        coverage=coverage,
        pairs=pair_matrix(verdict.collections),
        details=_details(verdict.collections),
        notes=tuple(verdict.notes),
        diagnostics=diagnostics_of(verdict),
        versions=versions_of(verdict, engine),
        feedback=tuple(feedback_entry(entry) for entry, _ in judged),
        feedback_open=site.feedback_open,
        markdown=verdict_markdown(verdict, headline, coverage, symptoms),
    )


def _notices(run: RunFacts, coverage: Coverage) -> list[Notice]:
    found = []
    if not run.latest:
        text = "A later run attributed this attempt again; this is not the verdict in force."
        found.append(Notice(level=NoticeLevel.WARNING, text=text))
    if coverage.missing:
        found.append(Notice(level=NoticeLevel.WARNING, text=coverage.sentence))
    return found


def _needed(verdict: EnrichedVerdict) -> tuple[DecidingEvidence, ...]:
    return tuple(
        DecidingEvidence(source=row.source, node=row.node or "", since=row.from_ or "", until=row.to or "", why=row.why)
        for row in verdict.needed_evidence
    )


def _details(collections: Mapping[str, Any]) -> tuple[Detail, ...]:
    """What collectors found, besides the pairs that have a picture of their own."""
    found = []
    for name, value in collections.items():
        if value and name != "bad_pairs":
            text = json.dumps(value, indent=2, ensure_ascii=False)
            found.append(Detail(name=name, text=text if len(text) <= _DETAIL else text[: _DETAIL - 1] + "…"))
    return tuple(found)
