"""What an execution left behind that could not clean up after itself: it was aborted, timed out, or lost its thread.

Sessions know who opened them and records of runs who carries them out, so nothing else has to be remembered.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_service.errors import NotFoundError
from attribution_service.run_records import RowStatus, RunRow, RunState
from attribution_service.run_rows import RunRows
from attribution_service.sessions import every_session
from attribution_service.times import rfc3339
from attribution_service.workflow.sessions import CleanupTask, cleanup_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_service.model import SessionView
    from attribution_service.service import Service

__all__ = ["Execution", "Swept", "close_run", "sweep_execution", "sweep_lost"]

_ARN = "arn:"
_RUNNING, _SUCCEEDED, _FAILED = "RUNNING", "SUCCEEDED", "FAILED"
_YOUNG_SECONDS = 600
"""An execution this young may not be known to everybody yet."""


class Swept(BaseModel):
    """What was removed, and what was closed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sessions: list[str]
    """Ids of the sessions that were removed."""
    run: str = ""
    """The run whose record was still running and is closed now."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What is known of an execution: ``status`` is Step Functions' word."""

    status: str
    run_id: str
    """The run that it belongs to."""

    @property
    def running(self) -> bool:
        """Whether it may still clean up itself."""
        return self.status == _RUNNING


def sweep_execution(service: Service, execution: str, *, run_id: str, status: str) -> Swept:
    """Remove what one execution opened, and keep a row of each context: it failed, unless a better row is there."""
    left = [view for view in every_session(service) if view.opened_by == execution]
    for view in left:
        _remove(service, view, run_id, status)
    return Swept(sessions=[view.attributor_id for view in left])


def close_run(service: Service, run_id: str, *, runner: str, status: str) -> str:
    """End the record of a run that the execution named ``runner`` carried out; the run, or "" when there is nothing to.

    A job's execution carries out one context of a run only, so its end closes no record. One that failed by itself was
    through with its contexts, or never found out which there are; one that was aborted or timed out was interrupted.
    """
    rows = RunRows.of(service.store, service.clock)
    with suppress(NotFoundError):  # jobs by themselves have none, nor has a fleet that ended before it began
        record = rows.record(run_id)
        if record.runner == runner and record.state is RunState.RUNNING:
            rows.expect(run_id, record.contexts or 0, [*record.errors, f"the execution ended as {status}"])
            if status != _FAILED:
                state = RunState.INTERRUPTED
            else:
                state = RunState.FAILED if record.contexts is None else RunState.ENDED
            rows.end(run_id, state)
            return run_id
    return ""


def sweep_lost(service: Service, describe: Callable[[str], Execution]) -> Swept:
    """The same for every execution that is over without anybody having heard of it, or whose own cleanup failed."""
    old = [
        view for view in every_session(service) if view.opened_by.startswith(_ARN) and view.age_seconds > _YOUNG_SECONDS
    ]
    known = {execution: describe(execution) for execution in sorted({view.opened_by for view in old})}
    left = [view for view in old if not known[view.opened_by].running]
    for view in left:
        _remove(service, view, known[view.opened_by].run_id, known[view.opened_by].status)
    return Swept(sessions=[view.attributor_id for view in left])


def _remove(service: Service, view: SessionView, run_id: str, status: str) -> None:
    context = f"{view.cluster}:{view.job_id}:{view.attempt}"
    cleanup_task(service, CleanupTask(run_id=run_id, context=context, opened_by=view.opened_by))
    if status == _SUCCEEDED:  # its row is there; only its cleanup failed
        return
    row = RunRow(
        run_id=run_id,
        context=context,
        cluster=view.cluster,
        job_id=view.job_id,
        attempt=view.attempt,
        status=RowStatus.FAILED,
        attributor_id=view.attributor_id,
        reason=f"the execution ended as {status}",
        started_at=view.created,
        ended_at=rfc3339(service.now()),
    )
    RunRows.of(service.store, service.clock).write(row)
