"""The enriched verdict: the raw one plus normalised fields and the coverage record of the run that made it.

This is the only schema that sinks, the dashboard and users see; branch on ``terminal_state`` and ``sub_domain``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_lib.taxonomy import SubDomain, TerminalState, sub_domain_of, terminal_state_of
from attribution_lib.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ConnectorReport",
    "ConnectorStatus",
    "EnrichedVerdict",
    "EvidenceStatus",
    "IngestionReport",
    "enrich_attribution_result",
    "evidence_status",
]


class ConnectorStatus(StrEnum):
    """How a collector did."""

    OK = "ok"
    ERROR = "error"
    EMPTY = "empty"


class EvidenceStatus(StrEnum):
    """``complete``: every collector ok or empty, everything delivered, something delivered."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    NONE = "none"


class ConnectorReport(BaseModel):
    """What one collector instance brought."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connector: str
    instance: str
    source: str
    status: ConnectorStatus
    observation_count: int
    lines: int
    reason: str | None = None


class IngestionReport(BaseModel):
    """How the observations of one collector instance were taken by the service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connector: str
    instance: str
    delivered: int
    duplicates: int
    conflicts: int
    failed: int
    last_error: str | None = None


class EnrichedVerdict(Verdict):
    """A verdict as it is stored and shown."""

    attributor_id: str
    run_id: str
    attributed_at: str | None
    terminal_state: TerminalState
    sub_domain: SubDomain
    connector_reports: list[ConnectorReport]
    ingestion_reports: list[IngestionReport]
    evidence_status: EvidenceStatus
    history: dict[str, int]
    """{node: failures in 30 days}."""


def evidence_status(
    connector_reports: Sequence[ConnectorReport],
    ingestion_reports: Sequence[IngestionReport] = (),
    *,
    delivered_otherwise: int = 0,
) -> EvidenceStatus:
    """How much of what was asked for the verdict stands on; without collectors clients delivered what there is."""
    delivered = sum(report.observation_count for report in connector_reports)
    if not connector_reports and not ingestion_reports:
        delivered = delivered_otherwise
    lost = any(report.failed or report.conflicts for report in ingestion_reports)
    failed = any(report.status is ConnectorStatus.ERROR for report in connector_reports)
    if failed or lost:
        return EvidenceStatus.PARTIAL
    return EvidenceStatus.COMPLETE if delivered else EvidenceStatus.NONE


def enrich_attribution_result(  # noqa: PLR0913 -- the run's facts, all keyword-only
    verdict: Verdict,
    *,
    attributor_id: str,
    run_id: str,
    attributed_at: str | None,
    connector_reports: Sequence[ConnectorReport] = (),
    ingestion_reports: Sequence[IngestionReport] = (),
    history: Mapping[str, int] | None = None,
) -> EnrichedVerdict:
    """Add ``terminal_state``, ``sub_domain`` and the coverage record; the mapping is deterministic."""
    fields = {name: getattr(verdict, name) for name in type(verdict).model_fields}
    return EnrichedVerdict.model_construct(
        **fields,
        attributor_id=attributor_id,
        run_id=run_id,
        attributed_at=attributed_at,
        terminal_state=terminal_state_of(verdict.outcome, failed=verdict.failed),
        sub_domain=sub_domain_of(verdict.outcome),
        connector_reports=list(connector_reports),
        ingestion_reports=list(ingestion_reports),
        evidence_status=evidence_status(
            connector_reports, ingestion_reports, delivered_otherwise=verdict.evidence.lines
        ),
        history=dict(sorted((history or {}).items())),
    )
