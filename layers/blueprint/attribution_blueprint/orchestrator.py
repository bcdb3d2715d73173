"""One configuration's run: discover, then every context in parallel, bounded; what became of each; the exit status."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from attribution_blueprint.discovery import discover, sources_of
from attribution_blueprint.errors import OutputError
from attribution_blueprint.one_context import ContextStatus, Parts, attribute_context
from attribution_service.result import EvidenceStatus
from attribution_service.ulids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_blueprint.connectors.attribution.base import AttributionConnector
    from attribution_blueprint.connectors.output.base import OutputConnector
    from attribution_blueprint.context import ExecutionContext
    from attribution_blueprint.one_context import ContextResult
    from attribution_blueprint.settings import Configuration

__all__ = ["Orchestrator", "Watcher", "close_all"]

_log = logging.getLogger(__name__)
_COUNTS = ("discovered", "skipped", "attempted", "attributed", "conflicted", "failed", "succeeded", "left_behind")


class Watcher(Protocol):
    """Hears how a run goes; called from the thread that runs it."""

    def found(self, count: int) -> None:
        """So many contexts will be attempted."""
        ...

    def ended(self, result: ContextResult) -> None:
        """One more is done."""
        ...


class _Silent:
    def found(self, count: int) -> None: ...

    def ended(self, result: ContextResult) -> None: ...


@dataclass(slots=True)
class Orchestrator:
    """Runs one configuration, with a service that several may share.

    After ``run``: ``last_run_stats`` {discovered, skipped, attempted, attributed, conflicted, failed, succeeded,
    left_behind: counts}, ``last_run_summaries`` (one dictionary for each attributed or conflicted context),
    ``last_run_results`` (all of them), ``discovery_errors``.
    """

    configuration: Configuration
    service: AttributionConnector
    watcher: Watcher = field(default_factory=_Silent)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it to end a run early: sessions that are open are deleted."""
    last_run_stats: dict[str, int] = field(default_factory=dict)
    last_run_summaries: list[dict[str, Any]] = field(default_factory=list)
    last_run_results: list[ContextResult] = field(default_factory=list)
    discovery_errors: list[str] = field(default_factory=list)
    sinks: dict[str, OutputConnector] = field(default_factory=dict)
    """By instance. Given ones are somebody else's to close; without any, the configuration's are made and closed."""

    def run(self) -> None:
        """Attribute every context that is discovered; whatever fails is in the results, never raised."""
        found = discover(self.configuration)
        contexts, self.discovery_errors = found.contexts, found.errors
        self.last_run_stats = dict.fromkeys(_COUNTS, 0)
        self.last_run_stats |= {"discovered": found.discovered, "skipped": found.discovered - len(contexts)}
        self.watcher.found(len(contexts))
        given = bool(self.sinks)
        if not given:
            self.sinks = {group.slot.instance: group.make() for group in self.configuration.of("output")}
        results: dict[str, ContextResult] = {}
        try:
            self._attempt(contexts, results)
            self._again(results)
        finally:
            if not given:
                close_all(self.sinks)
            self._count(contexts, results)

    def failed(self, *, strict: bool) -> bool:
        """Whether the run is to be reported as failed: the exit policy of one configuration."""
        stats = self.last_run_stats
        if self.discovery_errors or (stats["attempted"] and not stats["succeeded"]):
            return True
        verdicts = [result.verdict for result in self.last_run_results if result.verdict is not None]
        return strict and any(verdict.evidence_status is not EvidenceStatus.COMPLETE for verdict in verdicts)

    def _attempt(self, contexts: Sequence[ExecutionContext], results: dict[str, ContextResult]) -> None:
        parts = Parts(
            self.service,
            sources_of(self.configuration),
            self.sinks,
            self.configuration.attribution.timeout_seconds,
            new_ulid(time.time()),
            self.stop,
        )
        with ThreadPoolExecutor(self.configuration.run.concurrency, thread_name_prefix="context") as pool:
            waiting = [pool.submit(attribute_context, parts, context) for context in contexts]
            try:
                for done in as_completed(waiting):
                    result = done.result()
                    results[result.context.key] = result
                    self.watcher.ended(result)
            except BaseException:
                self.stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _again(self, results: dict[str, ContextResult]) -> None:
        """Conflicts once more, after a pause: their owner may be done."""
        run = self.configuration.run
        for _ in range(run.retry_conflicts):
            contexts = [found.context for found in results.values() if found.status is ContextStatus.CONFLICTED]
            if not contexts or self.stop.wait(run.retry_conflicts_seconds):
                return
            self._attempt(contexts, results)

    def _count(self, contexts: Sequence[ExecutionContext], results: dict[str, ContextResult]) -> None:
        self.last_run_results = [results[context.key] for context in contexts if context.key in results]
        stats = self.last_run_stats
        stats["attempted"] = len(contexts)
        for result in self.last_run_results:
            name = "failed" if result.status is ContextStatus.INTERRUPTED else result.status.value
            stats[name] += 1
            stats["succeeded"] += result.succeeded
            stats["left_behind"] += result.left_behind
        told = (ContextStatus.ATTRIBUTED, ContextStatus.CONFLICTED)
        self.last_run_summaries = [_summary(result) for result in self.last_run_results if result.status in told]


def close_all(sinks: Mapping[str, OutputConnector]) -> None:
    """Close every sink; one that fails is told, and costs the others nothing."""
    for name, sink in sinks.items():
        try:
            sink.close()
        except OutputError as error:
            _log.error("output %s: %s", name, error)


def _summary(result: ContextResult) -> dict[str, Any]:
    """Context, job, attempt and status; the verdict's fields, or the session in the way."""
    info = result.context.info
    base = {"context": result.context.key, "cluster": info.cluster, "job": info.job_id, "attempt": info.attempt}
    base |= {"status": result.status.value, "attributor_id": result.attributor_id}
    verdict = result.verdict
    if verdict is None:
        return base
    return base | {
        "terminal_state": verdict.terminal_state.value,
        "sub_domain": verdict.sub_domain.value,
        "outcome": verdict.outcome.value,
        "confidence": verdict.confidence.value,
        "root_symptom": verdict.root_cause.symptom if verdict.root_cause is not None else None,
        "bad_nodes": [node.node for node in verdict.bad_nodes],
        "evidence_status": verdict.evidence_status.value,
        "written": list(result.written),
    }
