"""What is kept of a run: one record of the whole, one row a context, and the totals over them. Times are RFC 3339."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field

from attribution_lib.rfc3339 import parse_instant
from attribution_service.model import Identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_service.result import EnrichedVerdict

__all__ = ["IN_PROCESS", "RowStatus", "RunRecord", "RunRow", "RunState", "RunSummary", "RunTotals", "elapsed"]

IN_PROCESS = "in-process"
"""The ``runner`` of a run in a single process."""


class RowStatus(StrEnum):
    """How a context ended."""

    ATTRIBUTED = "attributed"
    """A verdict was obtained; whether a sink accepted it says ``succeeded``."""
    CONFLICTED = "conflicted"
    """Another session of the same attempt was open; it was left alone."""
    FAILED = "failed"
    """No verdict could be had; ``reason`` says why."""


class RunState(StrEnum):
    """How far a run is."""

    RUNNING = "running"
    ENDED = "ended"
    """Every context was attempted, whatever became of it."""
    INTERRUPTED = "interrupted"
    """It was stopped; contexts without a row were not attempted or were given up."""
    FAILED = "failed"
    """It could not be found out which contexts there are."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunRow(_Model):
    """What became of one context of a run."""

    run_id: Identifier
    context: str = Field(min_length=1, max_length=700)
    """``cluster:job_id:attempt``; of a job that could not be read, its name as it was given."""
    cluster: str = ""
    job_id: str = ""
    attempt: int = 0
    status: RowStatus
    succeeded: bool = False
    """A verdict was obtained and at least one sink accepted it."""
    attributor_id: str = ""
    """The session; of a conflict the one that was in the way."""
    reason: str = ""
    """Why there is no verdict, or why a sink did not take it."""
    verdict_run: str = ""
    """The run whose verdict this is: an earlier one where the context had a verdict already."""
    written: list[str] = []
    """The sinks that accepted the verdict."""
    terminal_state: str = ""
    sub_domain: str = ""
    outcome: str = ""
    root_symptom: str = ""
    evidence_status: str = ""
    bad_nodes: int = 0
    observations: int = 0
    """Batches of evidence that were delivered."""
    lines: int = 0
    left_behind: bool = False
    """Its session may still be open."""
    started_at: str = ""
    ended_at: str = ""

    @property
    def rank(self) -> int:
        """A row of a higher rank is never replaced by one of a lower: what was once had is not lost by a retry."""
        if self.status is RowStatus.ATTRIBUTED:
            return 2 + self.succeeded
        return 1

    def attributed(self, verdict: EnrichedVerdict, written: Sequence[str]) -> Self:
        """This row once there is a verdict and these sinks have accepted it."""
        root = verdict.root_cause
        facts = {
            "status": RowStatus.ATTRIBUTED,
            "succeeded": bool(written),
            "written": list(written),
            "cluster": str(verdict.job["cluster"]),
            "job_id": str(verdict.job["job_id"]),
            "attempt": int(verdict.job["attempt"]),
            "attributor_id": verdict.attributor_id,
            "verdict_run": verdict.run_id,
            "terminal_state": verdict.terminal_state.value,
            "sub_domain": verdict.sub_domain.value,
            "outcome": verdict.outcome.value,
            "root_symptom": "" if root is None else root.symptom,
            "evidence_status": verdict.evidence_status.value,
            "bad_nodes": verdict.bad_nodes_total,
            "observations": sum(report.delivered for report in verdict.ingestion_reports),
            "lines": sum(report.lines for report in verdict.connector_reports),
        }
        return self.model_copy(update=facts)


class RunRecord(_Model):
    """The run as a whole."""

    run_id: Identifier
    state: RunState = RunState.RUNNING
    started_at: str
    ended_at: str | None = None
    contexts: int | None = None
    """How many contexts it means; None until that is known."""
    source: str = ""
    """What was asked for: a configuration's file, or adapter and query."""
    runner: str = ""
    """What carries it out, or did so last: ``in-process``, or the name of an execution of the fleet workflow."""
    errors: list[str] = []
    """Of adapters that could not say which jobs there are."""
    again: bool = False
    """It attributes what has a verdict already, also when it goes on after an interruption."""


class RunTotals(_Model):
    """Counts of contexts. ``contexts`` = ``attributed`` + ``conflicted`` + ``failed`` + ``pending``."""

    contexts: int = 0
    attributed: int = 0
    """A verdict was obtained."""
    found: int = 0
    """Of ``attributed``: had a verdict of an earlier run, and was not to have another."""
    conflicted: int = 0
    failed: int = 0
    """With those that a run which came to its end has no row of (``unreported``)."""
    succeeded: int = 0
    """Of ``attributed``: at least one sink accepted the verdict."""
    pending: int = 0
    """Without a row yet: to be done, or what an interrupted run did not come to; else 0 once the run is over."""
    unreported: int = 0
    """Of ``failed``: whatever was to do them ended without a word."""
    left_behind: int = 0
    """Sessions that may still be open."""
    observations: int = 0
    lines: int = 0


class RunSummary(_Model):
    """A run with its totals and what its verdicts say."""

    run: RunRecord
    totals: RunTotals
    duration_seconds: float
    """From its start to its end, or to now."""
    cost_dollars: float = 0.0
    """About what it cost on AWS so far, at list prices; see ``costs``."""
    sub_domains: dict[str, int] = {}
    """{sub_domain: verdicts}."""
    symptoms: dict[str, int] = {}
    """{root symptom: verdicts}, the most frequent ones first."""
    reasons: dict[str, int] = {}
    """{reason: contexts} of those that failed or whose verdict no sink took, the most frequent ones first."""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.run.state is not RunState.RUNNING


def elapsed(record: RunRecord, now: float) -> float:
    """Seconds from the start of a run to its end, or to ``now``."""
    begin = parse_instant(record.started_at) or 0
    end = None if record.ended_at is None else parse_instant(record.ended_at)
    return max(0.0, (now * 1_000_000 if end is None else end) - begin) / 1_000_000
