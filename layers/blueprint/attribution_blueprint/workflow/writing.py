"""The end of a context: its verdict to the service's table and the site's sinks, its row, and a run's totals."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.workflow.failure import Failure
from attribution_service.errors import ServiceError
from attribution_service.result import EnrichedVerdict
from attribution_service.run_records import RunState, RunTotals
from attribution_service.service import EVERYTHING
from attribution_service.verdicts import write_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_blueprint.settings import Group
    from attribution_blueprint.workflow.host import WorkflowHost

__all__ = ["TABLE", "SummariseTask", "WriteTask", "Written", "summarise", "write"]

_log = logging.getLogger(__name__)
TABLE = "verdicts"
"""What the service's own table of verdicts is called among the sinks."""
_TERMINAL = "stdout"
_REASON = 300


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WriteTask(_Model):
    """Hand an enriched verdict to every sink."""

    verdict_key: str


class Written(_Model):
    """The sinks that took it, and what the last one that did not said."""

    written: tuple[str, ...]
    reason: str = ""


class SummariseTask(_Model):
    """End a run; ``error`` when its contexts could not be found out, or not be handed on."""

    run_id: str
    error: Failure | None = None


def write(host: WorkflowHost, request: WriteTask) -> Written:
    """Write to the table of verdicts and to each sink; one that fails costs the others nothing."""
    body = host.service.store.objects.get(request.verdict_key)
    verdict = EnrichedVerdict.model_validate_json(body)
    written, reason = [], ""
    for name, sink in _sinks(host):
        try:
            sink(verdict)
        # One sink that breaks must not cost the others the verdict.
        except Exception as error:  # noqa: BLE001 -- see above
            known = isinstance(error, BlueprintError | ServiceError)
            reason = f"{name}: {error}" if known else f"{name}: {type(error).__name__}: {error}"
            _log.warning("%s: %s", verdict.attributor_id, reason, exc_info=None if known else error)
        else:
            written.append(name)
    return Written(written=tuple(written), reason=reason[:_REASON])


def summarise(host: WorkflowHost, request: SummariseTask) -> RunTotals:
    """Note that a run is over; its totals, counted over its rows: contexts without one failed."""
    rows, error = host.rows, request.error
    if error is None:
        return rows.end(request.run_id).totals
    known = rows.begin(request.run_id).contexts
    rows.expect(request.run_id, known or 0, [error.reason])
    return rows.end(request.run_id, RunState.FAILED if known is None else RunState.ENDED).totals


def _sinks(host: WorkflowHost) -> Iterator[tuple[str, Callable[[EnrichedVerdict], object]]]:
    """The service's table, then what the site configured; where a workflow runs nobody reads a terminal."""
    groups = host.configuration().of("output")  # first: what is wrong with it is told before anything is written
    yield TABLE, partial(write_verdict, host.service, EVERYTHING)
    for group in groups:
        if group.slot.component != _TERMINAL:
            yield group.slot.instance, partial(_to_sink, group)


def _to_sink(group: Group, verdict: EnrichedVerdict) -> None:
    sink = group.make()
    try:
        sink.write(verdict)
    finally:
        sink.close()
