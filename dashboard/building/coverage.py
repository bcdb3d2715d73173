"""What a verdict stands on, said so that a hole cannot be missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_service.result import ConnectorStatus, EvidenceStatus
from dashboard.building.words import counted, listed
from dashboard.contexts.coverage import ConnectorCoverage, Coverage, DiagnosticEntry, Versions
from dashboard.contexts.model import Fact

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import ConnectorReport, EnrichedVerdict, IngestionReport

__all__ = ["coverage_of", "diagnostics_of", "versions_of"]


def coverage_of(verdict: EnrichedVerdict) -> Coverage:
    """Over all collectors, the failed ones first."""
    ingested = {(report.connector, report.instance): report for report in verdict.ingestion_reports}
    connectors = [
        _connector(report, ingested.get((report.connector, report.instance))) for report in verdict.connector_reports
    ]
    connectors.sort(key=lambda entry: not entry.missing)
    totals = verdict.evidence
    return Coverage(
        status=verdict.evidence_status,
        missing=verdict.evidence_status is not EvidenceStatus.COMPLETE,
        sentence=_sentence(verdict.evidence_status, connectors),
        connectors=tuple(connectors),
        lines=totals.lines,
        bytes=totals.bytes,
        by_source=tuple(Fact(name=name, value=f"{count:,}") for name, count in totals.by_source.items()),
        absent_sources=tuple(source.value for source in Source if not totals.by_source.get(source.value)),
        outside_window=totals.outside_window,
        truncated_lines=totals.truncated_lines,
        redacted=totals.redacted,
    )


def versions_of(verdict: EnrichedVerdict, engine: RuleEngine | None) -> Versions:
    """What decided, and whether it is what would decide now."""
    made = verdict.engine
    return Versions(
        engine=made.version,
        rules_digest=made.rules_digest,
        rules=made.rules,
        schema_version=verdict.schema_version,
        based_on=verdict.based_on.digest,
        batches=verdict.based_on.batches,
        same_rules=None if engine is None else engine.digest == made.rules_digest,
        staged_hits=tuple(Fact(name=name, value=f"{count:,}") for name, count in made.staged_hits.items()),
    )


def diagnostics_of(verdict: EnrichedVerdict) -> tuple[DiagnosticEntry, ...]:
    """As the verdict has them."""
    return tuple(DiagnosticEntry(**entry.model_dump()) for entry in verdict.diagnostics)


def _connector(report: ConnectorReport, ingested: IngestionReport | None) -> ConnectorCoverage:
    lost = ingested is not None and bool(ingested.failed or ingested.conflicts)
    return ConnectorCoverage(
        connector=report.connector,
        instance=report.instance,
        source=report.source,
        status=report.status,
        missing=lost or report.status is ConnectorStatus.ERROR,
        lines=report.lines,
        observations=report.observation_count,
        sentence=" ".join([_collected(report), *([_delivered(ingested)] if ingested is not None and lost else [])]),
    )


def _collected(report: ConnectorReport) -> str:
    if report.status is ConnectorStatus.ERROR:
        return f"Not read: {report.reason or 'no reason was given'}."
    if report.status is ConnectorStatus.EMPTY:
        return f"Nothing was there{': ' + report.reason if report.reason else ''}."
    return f"Read {counted(report.lines, 'line')}{'; ' + report.reason if report.reason else ''}."


def _delivered(report: IngestionReport) -> str:
    error = f": {report.last_error}" if report.last_error else ""
    return f"{counted(report.failed + report.conflicts, 'batch', 'batches')} did not arrive{error}."


def _sentence(status: EvidenceStatus, connectors: list[ConnectorCoverage]) -> str:
    missing = [entry.instance for entry in connectors if entry.missing]
    if status is EvidenceStatus.NONE:
        return "No evidence was read: the verdict rests on what the scheduler says."
    if missing:
        return f"Not everything was read: {listed(missing)}. What it holds may change the verdict."
    if not connectors:
        return "Which collectors ran is not recorded."
    return "Everything that was configured was read."
