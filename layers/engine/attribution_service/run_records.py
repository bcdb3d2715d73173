"""What is kept of a run: one record of the whole, one row a context, and the totals over them. Times are RFC 3339."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from attribution_service.model import Identifier
from attribution_service.times import seconds_of

__all__ = ["RowStatus", "RunRecord", "RunRow", "RunState", "RunSummary", "RunTotals", "elapsed"]


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
    """What carries it out: ``in-process``, or the ARN of an execution."""
    errors: list[str] = []
    """Of adapters that could not say which jobs there are."""


class RunTotals(_Model):
    """Counts of contexts. ``contexts`` = ``attributed`` + ``conflicted`` + ``failed`` + ``pending``."""

    contexts: int = 0
    attributed: int = 0
    """A verdict was obtained."""
    conflicted: int = 0
    failed: int = 0
    """With those that a run which is over has no row of (``unreported``)."""
    succeeded: int = 0
    """Of ``attributed``: at least one sink accepted the verdict."""
    pending: int = 0
    """Without a row yet; 0 once the run is over."""
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
    begin = seconds_of(record.started_at) or 0
    end = now if record.ended_at is None else (seconds_of(record.ended_at) or now)
    return max(0.0, float(end - begin))
