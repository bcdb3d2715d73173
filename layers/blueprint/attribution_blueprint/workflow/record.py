"""A context's row, from the state that its workflow ended in."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from attribution_blueprint.workflow.failure import Failure
from attribution_blueprint.workflow.writing import TABLE, Written
from attribution_service.enrichment import Enriched
from attribution_service.errors import NotFoundError
from attribution_service.model import VerdictKey
from attribution_service.ports import ObjectMissingError
from attribution_service.result import EnrichedVerdict
from attribution_service.run_records import RowStatus, RunRow
from attribution_service.service import EVERYTHING
from attribution_service.times import rfc3339
from attribution_service.verdicts import get_verdict
from attribution_service.workflow.sessions import Opened, OpenStatus

if TYPE_CHECKING:
    from attribution_blueprint.workflow.host import WorkflowHost
    from attribution_service.service import Service

__all__ = ["EndState", "RecordTask", "record"]

_NO_ID = re.compile(r"[^A-Za-z0-9_.:+-]")


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class EndState(_Model):
    """What a workflow knows at its end; what it did not come to is missing."""

    run_id: str = ""
    context: str = ""
    started_at: str = ""
    job: dict[str, Any] | None = None
    """Of a request that could not be accepted, like the next three: what it was about."""
    job_ref: str | None = None
    job_id: str | None = None
    cluster: str | None = None
    opened: Opened | None = None
    enriched: Enriched | None = None
    written: Written | None = None
    error: Failure | None = None
    """What ended the work."""
    cleanup_error: Failure | None = None


class RecordTask(_Model):
    """Keep the row of one context; ``name`` is the execution's."""

    name: str
    state: EndState


def record(host: WorkflowHost, request: RecordTask) -> RunRow:
    """The row, which is kept: in the end the better of it and one that was there."""
    state = request.state
    status = _status(state)
    written = _written(state)
    row = RunRow(
        run_id=state.run_id or request.name,
        context=state.context or _named(state) or request.name,
        status=status,
        succeeded=status is RowStatus.ATTRIBUTED and bool(written),
        attributor_id="" if state.opened is None else state.opened.attributor_id,
        written=list(written),
        reason=_reason(state),
        left_behind=state.cleanup_error is not None,
        started_at=state.started_at,
        ended_at=rfc3339(host.service.now()),
    )
    verdict = _verdict(host.service, state)
    if verdict is not None:
        row = row.attributed(verdict, written)
    host.rows.write(row)
    return row


def _status(state: EndState) -> RowStatus:
    if state.opened is not None and state.opened.status is OpenStatus.CONFLICTED:
        return RowStatus.CONFLICTED
    return RowStatus.ATTRIBUTED if _found(state) or state.enriched is not None else RowStatus.FAILED


def _found(state: EndState) -> bool:
    return state.opened is not None and state.opened.status is OpenStatus.FOUND


def _verdict(service: Service, state: EndState) -> EnrichedVerdict | None:
    """The verdict of this context, made now or found."""
    if state.enriched is not None:
        with suppress(ObjectMissingError):
            return EnrichedVerdict.model_validate_json(service.store.objects.get(state.enriched.verdict_key))
    if _found(state):
        cluster, _, rest = state.context.partition(":")
        job_id, _, attempt = rest.rpartition(":")  # an id may hold colons, a cluster's name may not
        key = VerdictKey(cluster=cluster, job_id=job_id, attempt=int(attempt))
        with suppress(NotFoundError):
            return get_verdict(service, EVERYTHING, key)
    return None


def _written(state: EndState) -> tuple[str, ...]:
    if _found(state):
        return (TABLE,)
    return () if state.written is None else state.written.written


def _reason(state: EndState) -> str:
    if state.error is not None:
        return state.error.reason
    if state.opened is not None and state.opened.status is OpenStatus.CONFLICTED:
        return f"session {state.opened.attributor_id} is open and somebody else's"
    return "" if state.written is None else state.written.reason


def _named(state: EndState) -> str:
    """What a request named, as a context's key would be: of a job that could not be found."""
    if state.job_ref:
        text = state.job_ref.rpartition("/")[2].removesuffix(".json")
    else:
        job = state.job or {}
        cluster, job_id = state.cluster or job.get("cluster"), state.job_id or job.get("job_id")
        text = f"{cluster or 'default'}:{job_id or 'unknown'}:{job.get('attempt', 0)}"
    return _NO_ID.sub("-", text)[:200].lstrip("_.:+-")
