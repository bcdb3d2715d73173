"""The job and the runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.times import seconds_of
from dashboard.building.words import folded
from dashboard.contexts.job import JobFacts, RunFacts, RunLink
from dashboard.contexts.model import Fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_service.model import VerdictHead
    from attribution_service.result import EnrichedVerdict

__all__ = ["job_facts", "run_facts"]

_TEXTS = ("name", "user", "partition", "scheduler", "state", "state_class", "exit_code", "reason", "failed_node")


def job_facts(verdict: EnrichedVerdict) -> JobFacts:
    """As the scheduler knew it."""
    job = verdict.job
    nodes = [str(node) for node in job.get("nodes") or ()]
    start, end = str(job.get("start") or ""), str(job.get("end") or "")
    times = seconds_of(start), seconds_of(end)
    return JobFacts(
        cluster=str(job["cluster"]),
        job_id=str(job["job_id"]),
        attempt=int(job["attempt"]),
        nodes=len(nodes),
        node_list=folded(nodes),
        start=start,
        end=end,
        duration_seconds=None if times[0] is None or times[1] is None else times[1] - times[0],
        labels=tuple(Fact(name=str(name), value=str(value)) for name, value in (job.get("labels") or {}).items()),
        **{name: str(job.get(name) or "") for name in _TEXTS},
    )


def run_facts(verdict: EnrichedVerdict, runs: Sequence[VerdictHead]) -> RunFacts:
    """Which of the runs, newest first, the page is of."""
    latest = runs[0].run_id if runs else verdict.run_id
    return RunFacts(
        run_id=verdict.run_id,
        attributor_id=verdict.attributor_id,
        attributed_at=verdict.attributed_at or "",
        latest=verdict.run_id == latest,
        runs=tuple(
            RunLink(
                run_id=head.run_id,
                attributed_at=head.attributed_at or "",
                sub_domain=head.sub_domain,
                symptom=head.symptom or "",
                latest=head.run_id == latest,
                shown=head.run_id == verdict.run_id,
            )
            for head in runs
        ),
    )
