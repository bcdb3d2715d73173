"""What a verdict stands on: what was read, what was not, and which engine and rules decided."""

from __future__ import annotations

from attribution_service.result import ConnectorStatus, EvidenceStatus
from dashboard.contexts.model import Context, Fact

__all__ = ["ConnectorCoverage", "Coverage", "DiagnosticEntry", "Versions"]


class ConnectorCoverage(Context):
    """How one collector did, and how its observations were taken."""

    connector: str
    """The kind of collector."""
    instance: str
    """Its name in the configuration."""
    source: str
    """What it was to bring."""
    status: ConnectorStatus
    """``ok``, ``empty`` or ``error``."""
    missing: bool
    """True when something of it was not read; must not be missed."""
    lines: int
    """Lines or series that it brought."""
    observations: int
    """Batches that it brought."""
    sentence: str
    """How it went, in words; names the error."""


class Coverage(Context):
    """What was read and what was not."""

    status: EvidenceStatus
    """Over all collectors."""
    missing: bool
    """True when something configured was not read, or nothing was."""
    sentence: str
    """What that means for the verdict."""
    connectors: tuple[ConnectorCoverage, ...]
    """The ones with something missing first."""
    lines: int
    """Lines read."""
    bytes: int
    """Bytes read."""
    by_source: tuple[Fact, ...]
    """Lines (of metrics: series) a kind of evidence."""
    absent_sources: tuple[str, ...]
    """Kinds of evidence of which nothing was read."""
    outside_window: int
    """Events outside of the job's time, which were left out."""
    truncated_lines: int
    """Lines cut because of their length."""
    redacted: int
    """Secrets masked."""


class Versions(Context):
    """What decided."""

    engine: str
    """Version of the engine."""
    rules_digest: str
    """Digest of the rules."""
    rules: int
    """How many rules ran."""
    schema_version: str
    """Version of the verdict's schema."""
    based_on: str
    """Digest over the batches that the verdict stands on."""
    batches: int
    """How many batches."""
    same_rules: bool | None
    """Whether the rules that run now are these; null when no rules run here."""
    staged_hits: tuple[Fact, ...]
    """Hits of rules on trial, which decide nothing."""


class DiagnosticEntry(Context):
    """A rule that crashed or a fact that nobody knows."""

    rule: str
    """The rule's name."""
    location: str
    """Where it stands."""
    error: str
    """What happened."""
    count: int
    """How often."""
