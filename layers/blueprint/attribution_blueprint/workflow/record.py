"""A context's row, from the state that its workflow ended in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from attribution_blueprint.workflow.rows import ContextRow, RowStatus
from attribution_blueprint.workflow.writing import TABLE, Written
from attribution_service.enrichment import Enriched
from attribution_service.times import rfc3339
from attribution_service.workflow.sessions import Opened, OpenStatus

if TYPE_CHECKING:
    from attribution_blueprint.workflow.host import WorkflowHost

__all__ = ["EndState", "Failure", "RecordTask", "record"]

_REASON = 500


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Failure(_Model):
    """As a Catch leaves it: the error's name, and its cause as text or as JSON of a function's error."""

    Error: str = ""
    Cause: str = ""

    @property
    def reason(self) -> str:
        """On one line, for people."""
        try:
            said = str(json.loads(self.Cause)["errorMessage"])
        except (ValueError, TypeError, KeyError):
            said = self.Cause
        return f"{self.Error}: {' '.join(said.split())}"[:_REASON]


class EndState(_Model):
    """What a workflow knows at its end; what it did not come to is missing."""

    run_id: str = ""
    context: str = ""
    started_at: str = ""
    opened: Opened | None = None
    enriched: Enriched | None = None
    written: Written | None = None
    error: Failure | None = None
    """What ended the work."""
    cleanup_error: Failure | None = None


class RecordTask(_Model):
    """Keep the row of one context; ``input`` and ``name`` are the execution's."""

    name: str
    input: dict[str, Any] = {}
    state: EndState


def record(host: WorkflowHost, request: RecordTask) -> ContextRow:
    """The row, which is kept."""
    state, given = request.state, request.input
    opened = state.opened
    row = ContextRow(
        run_id=state.run_id or str(given.get("run_id") or request.name),
        context=state.context or _named(given) or request.name,
        status=_status(state),
        attributor_id="" if opened is None else opened.attributor_id,
        written=_written(state),
        reason=_reason(state),
        left_behind=state.cleanup_error is not None,
        started_at=state.started_at,
        ended_at=rfc3339(host.service.now()),
        **_verdict(state),
    )
    host.rows.put(row)
    return row


def _status(state: EndState) -> RowStatus:
    if state.opened is not None and state.opened.status is OpenStatus.CONFLICTED:
        return RowStatus.CONFLICTED
    found = state.opened is not None and state.opened.status is OpenStatus.FOUND
    return RowStatus.ATTRIBUTED if found or state.enriched is not None else RowStatus.FAILED


def _verdict(state: EndState) -> dict[str, str]:
    """Where the verdict lies, and its normalised fields."""
    if state.enriched is None:
        return {"verdict_run": "" if state.opened is None else state.opened.run_id}
    found = state.enriched
    return {
        "verdict_run": found.run_id,
        "verdict_key": found.verdict_key,
        "outcome": found.outcome.value,
        "sub_domain": found.sub_domain.value,
        "terminal_state": found.terminal_state.value,
        "evidence_status": found.evidence_status.value,
    }


def _written(state: EndState) -> tuple[str, ...]:
    if state.opened is not None and state.opened.status is OpenStatus.FOUND:
        return (TABLE,)
    return () if state.written is None else state.written.written


def _reason(state: EndState) -> str:
    if state.error is not None:
        return state.error.reason
    if state.opened is not None and state.opened.status is OpenStatus.CONFLICTED:
        return f"session {state.opened.attributor_id} is open and somebody else's"
    return "" if state.written is None else state.written.reason


def _named(given: dict[str, Any]) -> str:
    """What a request named, as the name of an object: of a job that could not be found."""
    job = given.get("job")
    parts = job if isinstance(job, dict) else given
    reference = str(given.get("job_ref") or "").rpartition("/")[2].removesuffix(".json")
    text = reference or f"{parts.get('cluster') or 'default'}:{parts.get('job_id') or 'unknown'}"
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.:+-") else "-" for letter in text)[
        :200
    ].lstrip("_.:+-")
