"""One context's way: open, collect and submit, verdict, clean up, enrich, write."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from attribution_blueprint.collecting import Collecting, Source
from attribution_blueprint.connectors.attribution.base import Delivered
from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.output.base import HistoryKeeper
from attribution_blueprint.errors import (
    AttributionFailedError,
    AttributorConflictError,
    CollectError,
    OutputError,
    SubmissionError,
)
from attribution_service.result import IngestionReport, enrich_attribution_result
from attribution_service.times import rfc3339

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from attribution_blueprint.connectors.attribution.base import AttributionConnector, Handle
    from attribution_blueprint.connectors.output.base import OutputConnector
    from attribution_blueprint.context import ExecutionContext
    from attribution_lib.verdict import Verdict
    from attribution_service.result import ConnectorReport, EnrichedVerdict

__all__ = ["ContextResult", "ContextStatus", "Parts", "attribute_context"]

_log = logging.getLogger(__name__)


class ContextStatus(StrEnum):
    """How a context ended."""

    ATTRIBUTED = "attributed"
    """A verdict was had; whether a sink took it says ``written``."""
    CONFLICTED = "conflicted"
    """Somebody else's session is open."""
    FAILED = "failed"
    """No verdict could be had."""
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Parts:
    """What every context of a run is given."""

    service: AttributionConnector
    sources: Sequence[Source]
    sinks: Mapping[str, OutputConnector]
    verdict_seconds: float
    run_id: str
    stop: threading.Event
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class ContextResult:
    """What became of one context."""

    context: ExecutionContext
    status: ContextStatus
    verdict: EnrichedVerdict | None = None
    written: tuple[str, ...] = ()
    """The sinks that took it."""
    attributor_id: str = ""
    reason: str = ""
    left_behind: bool = False
    """The session of this run may still be there."""

    @property
    def succeeded(self) -> bool:
        """A verdict was had and at least one sink took it."""
        return bool(self.written)


@dataclass(slots=True)
class _Count:
    delivered: int = 0
    duplicates: int = 0
    conflicts: int = 0
    failed: int = 0
    last_error: str | None = None


@dataclass(slots=True)
class _Evidence:
    """What was collected and delivered of one context."""

    connector_reports: Sequence[ConnectorReport] = ()
    ingestion_reports: list[IngestionReport] = field(default_factory=list)


class _InterruptedError(Exception):
    """The run is ending."""


def attribute_context(parts: Parts, context: ExecutionContext) -> ContextResult:
    """Do all of it for one context. Never raises: whatever goes wrong is in the result, and the log."""
    try:
        return _attribute(parts, context)
    except AttributorConflictError as error:
        status = ContextStatus.CONFLICTED
        return ContextResult(context, status, attributor_id=error.attributor_id, reason=str(error))
    except AttributionFailedError as error:
        _log.warning("%s: %s", context.key, error)
        return ContextResult(context, ContextStatus.FAILED, reason=str(error))
    except _InterruptedError:
        return ContextResult(context, ContextStatus.INTERRUPTED, reason="the run was interrupted")
    # A defect met by one context must not cost the others their verdicts.
    except Exception as error:  # noqa: BLE001 -- see above
        _log.exception("%s: broke", context.key)
        return ContextResult(context, ContextStatus.FAILED, reason=f"{type(error).__name__}: {error}")


def _attribute(parts: Parts, context: ExecutionContext) -> ContextResult:
    if parts.stop.is_set():
        raise _InterruptedError
    handle = parts.service.open(context.job)
    left_behind = True
    try:
        evidence = _gather(parts, context, handle)
        raw = _verdict(parts, handle)
    finally:
        left_behind = not _deleted(parts, handle)
    enriched = enrich_attribution_result(
        raw,
        attributor_id=handle.attributor_id,
        run_id=parts.run_id,
        attributed_at=rfc3339(int(parts.clock())),
        connector_reports=evidence.connector_reports,
        ingestion_reports=evidence.ingestion_reports,
        history=_history(parts, raw),
    )
    written, reason = _write(parts, enriched)
    return ContextResult(
        context, ContextStatus.ATTRIBUTED, enriched, written, handle.attributor_id, reason, left_behind
    )


def _gather(parts: Parts, context: ExecutionContext, handle: Handle) -> _Evidence:
    """Collect and deliver; what is not taken is counted and skipped."""
    collecting = Collecting(parts.sources, context, parts.stop)
    counts: dict[Source, _Count] = defaultdict(_Count)
    for source, observation in collecting:
        count = counts[source]
        try:
            delivered = parts.service.submit(handle, observation)
        except SubmissionError as error:
            _log.warning("%s: %s: not delivered: %s", context.key, source.instance, error)
            count.conflicts += error.conflict
            count.failed += not error.conflict
            count.last_error = str(error)
            continue
        count.delivered += 1
        count.duplicates += delivered is Delivered.DUPLICATE
    if parts.stop.is_set():
        raise _InterruptedError
    for report in collecting.reports:
        if report.reason is not None:
            _log.warning("%s: %s: %s", context.key, report.instance, report.reason)
    rows = [_ingestion(source, counts[source]) for source in parts.sources]
    return _Evidence(collecting.reports, rows)


def _ingestion(source: Source, count: _Count) -> IngestionReport:
    return IngestionReport(
        connector=source.component,
        instance=source.instance,
        delivered=count.delivered,
        duplicates=count.duplicates,
        conflicts=count.conflicts,
        failed=count.failed,
        last_error=count.last_error,
    )


def _verdict(parts: Parts, handle: Handle) -> Verdict:
    budget = Budget(time.monotonic() + parts.verdict_seconds, parts.stop)
    try:
        return parts.service.verdict(handle, budget)
    except (CollectError, AttributionFailedError):
        if parts.stop.is_set():
            raise _InterruptedError from None
        raise


def _deleted(parts: Parts, handle: Handle) -> bool:
    """Whether our session is gone; a failure is told, and costs no verdict."""
    try:
        parts.service.delete(handle)
    except AttributionFailedError as error:
        _log.warning("%s: the session may be left behind until its time is over: %s", handle.attributor_id, error)
        return False
    return True


def _history(parts: Parts, verdict: Verdict) -> Mapping[str, int]:
    """The most that the service or a sink knows of each node. Decoration: a verdict without it is still a verdict."""
    cluster, nodes = str(verdict.job["cluster"]), [node.node for node in verdict.bad_nodes]
    known: Counter[str] = Counter()
    for keeper in (parts.service, *(sink for sink in parts.sinks.values() if isinstance(sink, HistoryKeeper))):
        try:
            known |= Counter({**dict.fromkeys(nodes, 0), **keeper.history(cluster, nodes)})
        except (AttributionFailedError, OutputError) as error:
            _log.warning("no history: %s", error)
    return {node: known[node] for node in nodes}


def _write(parts: Parts, verdict: EnrichedVerdict) -> tuple[tuple[str, ...], str]:
    """The sinks that took it, and the last reason of one that did not."""
    written, reason = [], ""
    for name, sink in parts.sinks.items():
        try:
            sink.write(verdict)
        except OutputError as error:
            reason = str(error)
            _log.warning("%s: %s", verdict.attributor_id, error)
        # One sink that breaks must not cost the others the verdict.
        except Exception as error:  # noqa: BLE001 -- see above
            reason = f"output {name}: {type(error).__name__}: {error}"
            _log.exception("%s: output %s broke", verdict.attributor_id, name)
        else:
            written.append(name)
    return tuple(written), reason
