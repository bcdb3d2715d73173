"""What an execution left behind that could not clean up after itself: it was aborted, timed out, or lost its thread.

Sessions know who opened them, so nothing else has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_service.model import SessionQuery
from attribution_service.run_records import RowStatus, RunRow
from attribution_service.run_rows import RunRows
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions
from attribution_service.times import rfc3339
from attribution_service.workflow.sessions import CleanupTask, cleanup_task

if TYPE_CHECKING:
    from attribution_service.model import SessionView
    from attribution_service.service import Service

__all__ = ["Swept", "sweep_execution", "sweep_lost"]

_ARN = "arn:"
_YOUNG_SECONDS = 600
"""An execution this young may not be known to everybody yet."""


class Swept(BaseModel):
    """What was removed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sessions: list[str]
    """Their ids."""


IsRunning = Callable[[str], bool]
"""Whether the execution of an ARN still runs."""


def sweep_execution(service: Service, execution: str, *, run_id: str, status: str) -> Swept:
    """Remove what one execution opened, and keep a row of each context: it failed, unless a better row is there."""
    left = [view for view in _open_sessions(service) if view.opened_by == execution]
    for view in left:
        _remove(service, view, run_id, status)
    return Swept(sessions=[view.attributor_id for view in left])


def sweep_lost(service: Service, is_running: IsRunning) -> Swept:
    """The same for every execution that is over without anybody having heard of it."""
    old = [
        view
        for view in _open_sessions(service)
        if view.opened_by.startswith(_ARN) and view.age_seconds > _YOUNG_SECONDS
    ]
    over = {execution: not is_running(execution) for execution in {view.opened_by for view in old}}
    left = [view for view in old if over[view.opened_by]]
    for view in left:
        _remove(service, view, view.opened_by.rpartition(":")[2], "LOST")
    return Swept(sessions=[view.attributor_id for view in left])


def _open_sessions(service: Service) -> Iterator[SessionView]:
    cursor = None
    while True:
        query = SessionQuery(cursor=cursor, limit=service.settings.limits.page_max)
        page = list_sessions(service, EVERYTHING, query)
        yield from page.sessions
        cursor = page.cursor
        if cursor is None:
            return


def _remove(service: Service, view: SessionView, run_id: str, status: str) -> None:
    context = f"{view.cluster}:{view.job_id}:{view.attempt}"
    cleanup_task(service, CleanupTask(run_id=run_id, context=context, opened_by=view.opened_by))
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
