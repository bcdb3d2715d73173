"""The raw verdict: what ``Attributor.attribute()`` returns and what the REST API sends.

Field order is the order on the wire; times are RFC 3339 UTC with six digits; nothing here depends on wall time, row ids
or hash order.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from attribution_lib.taxonomy import Confidence, Outcome, SubDomain

__all__ = [
    "SCHEMA_VERSION",
    "Alternative",
    "BadNode",
    "BasedOn",
    "ChainRow",
    "Diagnostic",
    "EngineInfo",
    "EvidenceContext",
    "EvidenceTotals",
    "NeededEvidence",
    "RootCause",
    "SymptomRow",
    "SymptomState",
    "Verdict",
]

SCHEMA_VERSION = "2"

SymptomState = Literal["root", "remaining", "demoted", "discarded"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvidenceContext(_Model):
    """Up to five lines before and after the root line, each at most 512 bytes."""

    before: list[str] = []
    after: list[str] = []


class RootCause(_Model):
    """The evidence that decided: the very line, the rule that read it, and where both stand."""

    symptom: str
    rule: str
    rule_location: str
    node: str | None
    rank: int | None
    device: str | None
    timestamp: str | None
    source: str
    observation_id: str
    stream: str
    line_num: int | None
    evidence: str
    context: EvidenceContext = EvidenceContext()
    recommended_action: str | None = None
    """The vendor's word (``vendor: RESET_GPU``), never ours."""
    docs: str = ""
    payload: dict[str, Any] = {}


class Alternative(_Model):
    """A cause that the evidence also fits, and why it did not win."""

    outcome: Outcome
    sub_domain: SubDomain
    symptom: str
    why: str
    evidence: str


class NeededEvidence(_Model):
    """Evidence that would decide between what is left, were it there."""

    source: str
    node: str | None
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    why: str

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class BadNode(_Model):
    """A node to inspect (``bad_nodes``) or to know about (``interesting_nodes``)."""

    node: str
    symptoms: list[str]
    occurrences: int
    first_seen: str | None
    last_seen: str | None
    why: str


class SymptomRow(_Model):
    """One symptom of one source: how often, where, when, and what became of it."""

    symptom: str
    source: str
    state: SymptomState
    occurrences: int
    nodes: int
    node_list: list[str]
    ranks: int
    first_seen: str | None
    last_seen: str | None
    changed_by: str | None
    explained_by: str | None
    rule: str


class ChainRow(_Model):
    """One step of the story in time order; equal steps on many nodes are one row with a count."""

    at: str | None
    node: str | None
    nodes: int
    rank: int | None
    ranks: int = 0
    """How many ranks say so, as far as the lines name them; 0 in verdicts of earlier versions."""
    symptom: str
    state: SymptomState
    explained_by: str | None
    rule: str
    source: str
    stream: str
    line_num: int | None
    evidence: str
    occurrences: int


class EvidenceTotals(_Model):
    """What was read."""

    observations: int
    lines: int
    bytes: int
    by_source: dict[str, int]
    """{source: lines}; metric sources count series."""
    outside_window: int
    """Occurrences of symptoms, and series, that lie wholly before or after the job: they decide nothing."""
    truncated_lines: int
    redacted: int


class BasedOn(_Model):
    """Which batches this verdict stands on; the digest is over the sorted batch identities."""

    batches: int
    digest: str


class Diagnostic(_Model):
    """A rule that crashed, a state nobody knows, a matcher that fell back: a finding, never silence."""

    rule: str
    location: str
    error: str
    count: int


class EngineInfo(_Model):
    """Which engine and rules decided."""

    version: str
    rules_digest: str
    rules: int
    staged_hits: dict[str, int]


class Verdict(_Model):
    """One verdict over one attempt of one job."""

    schema_version: str = SCHEMA_VERSION
    job: dict[str, Any]
    outcome: Outcome
    outcomes: list[Outcome] = []
    """Reserved for compound outcomes; empty in schema version 2."""
    confidence: Confidence
    confidence_reason: str = ""
    """Why it is not high, in a few words; empty where it is, and in verdicts of earlier versions."""
    failed: bool
    """True when the scheduler's state class is failed or failure evidence survived."""
    root_cause: RootCause | None
    alternatives: list[Alternative]
    needed_evidence: list[NeededEvidence]
    bad_nodes: list[BadNode]
    bad_nodes_total: int
    interesting_nodes: list[BadNode]
    symptoms: list[SymptomRow]
    chain: list[ChainRow]
    collections: dict[str, Any]
    notes: list[str]
    evidence: EvidenceTotals
    based_on: BasedOn
    diagnostics: list[Diagnostic]
    engine: EngineInfo
