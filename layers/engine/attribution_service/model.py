"""Requests and responses of the v2 API: what crosses the wire besides observations and verdicts. Times are RFC 3339."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from attribution_lib.fields import CLUSTER_FORM, ID_FORM
from attribution_lib.observation import ObservationFormat, Source
from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, TerminalState
from attribution_service.result import EvidenceStatus

__all__ = [
    "Attribution",
    "AttributionStatus",
    "Feedback",
    "FeedbackJudgement",
    "FeedbackRequest",
    "Health",
    "JobObject",
    "OpenRequest",
    "Receipt",
    "SessionPage",
    "SessionQuery",
    "SessionView",
    "UploadRequest",
    "UploadTicket",
    "VerdictHead",
    "VerdictKey",
    "VerdictPage",
    "VerdictQuery",
    "VerdictReceipt",
]

Identifier = Annotated[str, StringConstraints(pattern=f"^{ID_FORM}$")]
Cluster = Annotated[str, StringConstraints(pattern=f"^{CLUSTER_FORM}$")]
JobObject = dict[str, Any]
"""The ``job`` object; its keys are checked by ``JobInfoBuilder`` (``JOB_KEYS``), which names every fault."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenRequest(_Model):
    """``POST /v2/attributor``."""

    job: JobObject
    attributor_id: Identifier | None = None
    """Default: ``cluster:job_id:attempt``. One with a colon must begin with the job's cluster."""
    ttl_seconds: int | None = Field(default=None, strict=True)
    """60 s to 7 days; default one day."""


class SessionView(_Model):
    """One open session."""

    attributor_id: str
    cluster: str
    job_id: str
    attempt: int
    created: str
    expires_at: str
    age_seconds: int
    observations: int
    """As last counted, like ``events``: by the last attribution, or on the way."""
    events: int
    opened_by: str = ""
    job: JobObject | None = None
    """The job as it stands now; null in listings."""


class SessionQuery(_Model):
    """``GET /v2/attributor``: oldest first. Without a cluster all of the caller's."""

    cluster: Cluster | None = None
    cursor: str | None = None
    limit: int | None = None


class SessionPage(_Model):
    """Some open sessions; ``cursor`` is null on the last page."""

    sessions: list[SessionView]
    cursor: str | None = None


class Receipt(_Model):
    """What became of one observation."""

    observation_id: str
    lines: int
    events: int
    truncated_lines: int
    redacted: int


class UploadRequest(_Model):
    """``POST …/observation/upload``: announces one object. ``size`` and ``sha256`` (hex) are of the bytes to be put."""

    source: Source
    format: ObservationFormat
    size: int = Field(ge=1, strict=True)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class UploadTicket(_Model):
    """Where and how to put the announced object, once; then post the observation with ``object_key``."""

    upload_url: str
    headers: dict[str, str]
    object_key: str
    expires_at: str


class AttributionStatus(StrEnum):
    """How a request for a verdict ended."""

    READY = "ready"
    """200."""
    NOT_MODIFIED = "not_modified"
    """304."""
    PENDING = "pending"
    """202."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The answer of ``attribute``; ``verdict`` holds the bytes of the raw verdict when ready."""

    status: AttributionStatus
    etag: str = ""
    """64 hex digits; the edge quotes them."""
    verdict: bytes = b""
    retry_after: int = 0
    """Seconds, when pending."""
    spills_read: int = 0
    engine_seconds: float = 0.0
    cached: bool = False
    """The very verdict was there already; no engine ran."""


class VerdictQuery(_Model):
    """``GET /v2/verdict``: newest first; all of the caller's clusters and the last 30 days unless said otherwise."""

    cluster: Cluster | None = None
    day: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\d$")
    """UTC."""
    node: Identifier | None = None
    sub_domain: SubDomain | None = None
    outcome: Outcome | None = None
    cursor: str | None = None
    limit: int | None = None


class VerdictKey(_Model):
    """Which verdict: the latest attempt and its latest run unless given."""

    cluster: Cluster
    job_id: Identifier
    attempt: int | None = Field(default=None, ge=0, le=999_999)
    run_id: Identifier | None = None


class VerdictHead(_Model):
    """What listings show of an enriched verdict (latest run of its attempt)."""

    cluster: str
    job_id: str
    attempt: int
    run_id: str
    attributor_id: str
    attributed_at: str | None
    stored_at: str
    job_name: str
    user: str
    outcome: Outcome
    sub_domain: SubDomain
    terminal_state: TerminalState
    confidence: Confidence
    evidence_status: EvidenceStatus
    symptom: str | None
    node: str | None
    evidence: str
    """At most 300 characters of the line that decided."""
    bad_nodes: list[str]
    """The first 20."""
    bad_nodes_total: int
    rules_digest: str
    rule: str = ""
    """The rule that read the root."""
    rules: list[str] = []
    """Rules that read, demoted or discarded a symptom, sorted; the first 40."""
    device: str = ""
    """The root's device."""
    switch: str = ""
    """The switch that the root names."""
    peers: list[str] = []
    """``a b``: hosts that lost each other, the first 20 pairs."""
    nodes: int = 0
    """How many nodes the job had; 0: unknown."""
    gpus: int = 0
    """How many GPUs the job had, by its label ``gpus``; 0: not said."""
    started_at: str | None = None
    ended_at: str | None = None


class VerdictPage(_Model):
    """Some verdicts; ``cursor`` is null on the last page. A page may be shorter than asked for and still have one."""

    verdicts: list[VerdictHead]
    cursor: str | None = None


class VerdictReceipt(_Model):
    """Where a verdict was stored, and whether it counted as a new failure of its bad nodes."""

    cluster: str
    job_id: str
    attempt: int
    run_id: str
    counted_nodes: int


class FeedbackJudgement(StrEnum):
    """What somebody who knows says of a verdict."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


class FeedbackRequest(_Model):
    """``POST …/feedback``: a judgement on one run, and what would have been right."""

    judgement: FeedbackJudgement
    run_id: Identifier | None = None
    """Default: the latest run."""
    outcome: Outcome | None = None
    node: Identifier | None = None
    comment: str = ""
    author: str = Field(default="", max_length=200)


class Feedback(_Model):
    """A stored judgement."""

    feedback_id: str
    cluster: str
    job_id: str
    attempt: int
    run_id: str
    at: str
    judgement: FeedbackJudgement
    outcome: Outcome | None = None
    node: str | None = None
    comment: str = ""
    author: str = ""


class Health(_Model):
    """``GET /v2/health``."""

    status: str
    version: str
    verdict_schema: str
    accepted_observation_schemas: list[str]
    spill_schema: int
    rules_digest: str
    rules: int
