"""The enriched verdict, as the orchestrator's users import it."""

from __future__ import annotations

from attribution_service.result import (
    ConnectorReport,
    ConnectorStatus,
    EnrichedVerdict,
    EvidenceStatus,
    IngestionReport,
    enrich_attribution_result,
)

__all__ = [
    "ConnectorReport",
    "ConnectorStatus",
    "EnrichedVerdict",
    "EvidenceStatus",
    "IngestionReport",
    "enrich_attribution_result",
]
