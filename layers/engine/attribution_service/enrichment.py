"""The last step before a verdict is written: the raw verdict, normalised, with the coverage of the run that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_lib.errors import Fault
from attribution_lib.taxonomy import Outcome, SubDomain, TerminalState
from attribution_lib.verdict import Verdict
from attribution_service.attribute import attribute
from attribution_service.errors import InvalidRequestError, StoreError
from attribution_service.model import AttributionStatus, Identifier
from attribution_service.result import (
    ConnectorReport,
    EnrichedVerdict,
    EvidenceStatus,
    IngestionReport,
    enrich_attribution_result,
)
from attribution_service.times import rfc3339, seconds_of
from attribution_service.verdicts import node_history

if TYPE_CHECKING:
    from attribution_service.service import Caller, Service

__all__ = ["EnrichRequest", "Enriched", "enrich", "enriched_verdict"]


class EnrichRequest(BaseModel):
    """What a run knows beside the evidence. ``run_id`` comes from the caller, so that a retry overwrites itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributor_id: Identifier
    run_id: Identifier
    attributed_at: str | None = None
    """RFC 3339; default: now."""
    connector_reports: list[ConnectorReport] = []
    ingestion_reports: list[IngestionReport] = []


class Enriched(BaseModel):
    """Pointers and normalised fields only: the state of a workflow holds no verdicts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributor_id: str
    run_id: str
    verdict_key: str
    """Key of the object that holds the enriched verdict."""
    outcome: Outcome
    sub_domain: SubDomain
    terminal_state: TerminalState
    evidence_status: EvidenceStatus


def enrich(service: Service, caller: Caller, request: EnrichRequest) -> Enriched:
    """Store the enriched verdict of a session as an object and say where.

    ``NotFoundError`` when there is no such session, ``StoreError`` while its verdict is being made: try again.
    """
    verdict = enriched_verdict(service, caller, request)
    job = verdict.job
    key = f"verdicts/{job['cluster']}/{job['job_id']}/{job['attempt']}/{request.run_id}.json"
    service.store.objects.put(key, verdict.model_dump_json(by_alias=True).encode())
    return Enriched(
        attributor_id=request.attributor_id,
        run_id=request.run_id,
        verdict_key=key,
        outcome=verdict.outcome,
        sub_domain=verdict.sub_domain,
        terminal_state=verdict.terminal_state,
        evidence_status=verdict.evidence_status,
    )


def enriched_verdict(service: Service, caller: Caller, request: EnrichRequest) -> EnrichedVerdict:
    """The enriched verdict of a session as it is now."""
    at = request.attributed_at or rfc3339(service.now())
    if seconds_of(at) is None:
        raise InvalidRequestError("the request is not valid", [Fault("attributed_at", "", at[:60], "RFC 3339")])
    found = attribute(service, caller, request.attributor_id)
    if found.status is not AttributionStatus.READY:
        raise StoreError("the verdict is still being made; try again", retry_after=found.retry_after)
    verdict = Verdict.model_validate_json(found.verdict)
    cluster = str(verdict.job["cluster"])
    return enrich_attribution_result(
        verdict,
        attributor_id=request.attributor_id,
        run_id=request.run_id,
        attributed_at=at,
        connector_reports=request.connector_reports,
        ingestion_reports=request.ingestion_reports,
        history=node_history(service, caller, cluster, [bad.node for bad in verdict.bad_nodes]),
    )
