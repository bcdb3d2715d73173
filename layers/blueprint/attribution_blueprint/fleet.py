"""A fleet in this process: every context of one configuration, so many at a time, with a record that survives it.

What the state machine ``fleet`` is on AWS. Contexts are forgotten as they end: memory does not grow with the fleet, and
who wants to know what became of them reads the rows.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from attribution_blueprint.discovery import discover, sources_of
from attribution_blueprint.errors import ConfigError, OutputError
from attribution_blueprint.one_context import ContextStatus, Parts, attribute_context
from attribution_blueprint.orchestrator import close_all
from attribution_service.errors import NotFoundError, ServiceError
from attribution_service.model import VerdictKey
from attribution_service.run_records import IN_PROCESS, RowStatus, RunRow, RunState
from attribution_service.service import EVERYTHING
from attribution_service.times import rfc3339
from attribution_service.verdicts import get_verdict, write_verdict

if TYPE_CHECKING:
    from attribution_blueprint.connectors.attribution.base import AttributionConnector
    from attribution_blueprint.connectors.output.base import OutputConnector
    from attribution_blueprint.context import ExecutionContext
    from attribution_blueprint.one_context import ContextResult
    from attribution_blueprint.settings import Configuration
    from attribution_service.result import EnrichedVerdict
    from attribution_service.run_records import RunSummary
    from attribution_service.run_rows import RunRows
    from attribution_service.service import Service

__all__ = ["TABLE", "Fleet", "FleetWatcher", "TableSink"]

_log = logging.getLogger(__name__)
TABLE = "verdicts"
"""What the service's own table of verdicts is called among the sinks."""
_TERMINAL = "stdout"


class FleetWatcher(Protocol):
    """Hears how a fleet goes; called from the threads that do the work, one at a time."""

    def found(self, count: int) -> None:
        """So many contexts there are."""
        ...

    def ended(self, row: RunRow) -> None:
        """One more is done."""
        ...


class _Silent:
    def found(self, count: int) -> None: ...

    def ended(self, row: RunRow) -> None: ...


@dataclass(frozen=True, slots=True)
class TableSink:
    """The service's own table of verdicts as a sink: what ``/v2/verdict`` lists and history is counted from."""

    service: Service

    def write(self, verdict: EnrichedVerdict) -> None:
        """Store one verdict; the same run of the same context is stored once."""
        try:
            write_verdict(self.service, EVERYTHING, verdict)
        except ServiceError as error:
            msg = f"output {TABLE}: {error}"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Nothing is kept back."""


@dataclass(slots=True)
class Fleet:
    """One run over all contexts of a configuration. The same ``run_id`` again goes on where that run stopped."""

    configuration: Configuration
    service: AttributionConnector
    rows: RunRows
    run_id: str
    verdicts: Service | None = None
    """The service whose table takes every verdict, and is asked which contexts have one; None: there is none here."""
    again: bool = False
    """Attribute what has a verdict already; the new one is another run of it. A run that began so goes on so."""
    watcher: FleetWatcher = field(default_factory=_Silent)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it to end a run early: sessions that are open are deleted."""
    _sinks: dict[str, OutputConnector] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> RunSummary:
        """Attribute every context that is discovered; whatever fails is in the rows, never raised.

        ``ConfigError`` before anything is done when no sink would take a verdict; ``ServiceError`` when no record of
        the run can be kept.
        """
        self._sinks = self._made_sinks()
        begun = self.rows.begin(self.run_id, source=self.configuration.address, runner=IN_PROCESS, again=self.again)
        self.again = self.again or begun.again
        found = discover(self.configuration)
        self.rows.expect(self.run_id, len(found.contexts), found.errors)
        self.watcher.found(len(found.contexts))
        state = RunState.FAILED if found.errors and not found.contexts else RunState.ENDED
        try:
            self._attempt_all(found.contexts)
        except BaseException:
            self.stop.set()
            raise
        finally:
            close_all(self._sinks)
            summary = self.rows.end(self.run_id, RunState.INTERRUPTED if self.stop.is_set() else state)
        return summary

    def _attempt_all(self, contexts: list[ExecutionContext]) -> None:
        """All of them, then conflicts once more after a pause: their owner may be done."""
        waiting = deque(contexts)
        contexts.clear()  # each is let go when it is done
        conflicted = self._attempt(waiting)
        run = self.configuration.run
        for _ in range(run.retry_conflicts):
            if not conflicted or self.stop.wait(run.retry_conflicts_seconds):
                return
            conflicted = self._attempt(conflicted)

    def _attempt(self, waiting: deque[ExecutionContext]) -> deque[ExecutionContext]:
        """Work on so many at a time; those whose session was somebody else's."""
        settings = self.configuration
        conflicted: deque[ExecutionContext] = deque()
        parts = Parts(
            self.service,
            sources_of(settings),
            self._sinks,
            settings.attribution.timeout_seconds,
            self.run_id,
            self.stop,
            self.rows.clock,
        )

        def work() -> None:
            while not self.stop.is_set():
                try:
                    context = waiting.popleft()
                except IndexError:
                    return
                if self._one(parts, context) is RowStatus.CONFLICTED:
                    conflicted.append(context)

        with ThreadPoolExecutor(settings.run.concurrency, thread_name_prefix="context") as pool:
            workers = [pool.submit(work) for _ in range(settings.run.concurrency)]
            try:
                for worker in workers:
                    worker.result()
            except BaseException:
                self.stop.set()
                raise
        return conflicted

    def _one(self, parts: Parts, context: ExecutionContext) -> RowStatus | None:
        """Do one context, unless it is done, and keep its row; none of what the run's end met in the middle."""
        row = self._done(context)
        if row is None:
            started = self.rows.clock()
            result = attribute_context(parts, context)
            if result.status is ContextStatus.INTERRUPTED:
                return None
            row = self._row(result).model_copy(update={"started_at": rfc3339(started)})
            self._keep(row)
        with self._lock:
            self.watcher.ended(row)
        return row.status

    def _done(self, context: ExecutionContext) -> RunRow | None:
        """The row of a context that this run has done before, or that has a verdict and is not to have another."""
        row = self.rows.row(self.run_id, context.key)
        if row is not None and row.succeeded:
            return row
        if self.again or self.verdicts is None:
            return None
        info = context.info
        key = VerdictKey(cluster=info.cluster, job_id=info.job_id, attempt=info.attempt)
        with suppress(NotFoundError):
            verdict = get_verdict(self.verdicts, EVERYTHING, key)
            row = self._blank(context).attributed(verdict, [TABLE])
            self._keep(row)
            return row
        return None

    def _blank(self, context: ExecutionContext) -> RunRow:
        info, now = context.info, rfc3339(self.rows.clock())
        return RunRow(
            run_id=self.run_id,
            context=context.key,
            cluster=info.cluster,
            job_id=info.job_id,
            attempt=info.attempt,
            status=RowStatus.FAILED,
            started_at=now,
            ended_at=now,
        )

    def _row(self, result: ContextResult) -> RunRow:
        row = self._blank(result.context).model_copy(
            update={
                "attributor_id": result.attributor_id,
                "reason": result.reason,
                "left_behind": result.left_behind,
            }
        )
        if result.verdict is not None:
            return row.attributed(result.verdict, result.written)
        conflicted = result.status is ContextStatus.CONFLICTED
        return row.model_copy(update={"status": RowStatus.CONFLICTED}) if conflicted else row

    def _keep(self, row: RunRow) -> None:
        """A row that cannot be kept costs no other context anything; the run counts this one as unreported."""
        try:
            self.rows.write(row)
        except ServiceError as error:
            _log.error("%s: its row could not be kept: %s", row.context, error)

    def _made_sinks(self) -> dict[str, OutputConnector]:
        """The table, and what is configured; a fleet's verdicts are too many for a terminal."""
        sinks: dict[str, OutputConnector] = {}
        if self.verdicts is not None:
            sinks[TABLE] = TableSink(self.verdicts)  # type: ignore[assignment]  # it has no settings to be made of
        groups = [group for group in self.configuration.of("output") if group.slot.component != _TERMINAL]
        sinks |= {group.slot.instance: group.make() for group in groups}
        if not sinks:
            msg = f"{self.configuration.address}: no output but stdout is configured; accepted: [output.NAME.COMPONENT]"
            raise ConfigError([msg])
        return sinks
