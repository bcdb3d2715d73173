"""One job's attribution: feed observations in any order, ask for a verdict at any time."""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Self

import attribution_lib
from attribution_lib.bulk import collector_paused
from attribution_lib.errors import AttributionError, Fault, ObservationError
from attribution_lib.events.event import EventType
from attribution_lib.events.table import EventManager
from attribution_lib.job.facts import scheduler_facts
from attribution_lib.observation import ObservationFormat
from attribution_lib.phases.collect import collect
from attribution_lib.phases.decide import decide
from attribution_lib.phases.early import prepare
from attribution_lib.phases.ending import derive_ending
from attribution_lib.phases.extract import LineExtractor
from attribution_lib.phases.identity import identified
from attribution_lib.phases.metrics import evaluate, series_outside, summarise
from attribution_lib.phases.refine import CrashLog, apply_filters, apply_post_outcome, apply_refiners
from attribution_lib.phases.report import build_verdict
from attribution_lib.phases.stages import Stage, unwatched
from attribution_lib.text.lines import from_entries, normalise
from attribution_lib.verdict import BasedOn, EvidenceTotals
from attribution_lib.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from attribution_lib.events.event import Event
    from attribution_lib.events.ordered import EventsByKind
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Observation
    from attribution_lib.phases.stages import Watcher
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import Verdict

__all__ = ["Attributor"]


class Attributor:
    """Turns the evidence of one job into one verdict.

    ``engine`` given: no global is touched; else the one that ``setup_rules()`` stored is used. As a context manager it
    leaves with ``close(flush=True)`` on success and ``close(flush=False)`` on an exception. Not thread safe: one
    attributor serves one job in one thread; engines are shared freely.
    """

    def __init__(self, job: JobInfo, engine: RuleEngine | None = None, *, events: EventManager | None = None) -> None:
        self._job = job
        self._engine = engine if engine is not None else _global_engine()
        self._events = events if events is not None else EventManager()
        self._crashes = CrashLog()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(flush=kind is None)

    @property
    def job(self) -> JobInfo:
        """The job as it is now."""
        return self._job

    @property
    def events(self) -> EventManager:
        """The job's event store: the state before filtering."""
        return self._events

    def close(self, *, flush: bool = True) -> None:
        """Release the event store; with ``flush=False`` what was not yet stored is discarded."""
        self._events.close(flush=flush)

    def update_job(self, job: JobInfo) -> None:
        """Take facts that arrived late; the next ``attribute()`` uses them."""
        self._job = job

    def ingest(self, observation: Observation) -> bool:
        """Extract one observation's events. False: this batch was ingested before and nothing was added.

        Raises ``ObservationError`` when the same id comes with other content.
        """
        observation = identified(observation)
        known = self._events.known_digest(observation.observation_id)
        if known is None:
            self._extract(observation)
            return True
        if known != observation.digest:
            problem = "was ingested before with other content"
            fault = Fault(f"observation {observation.observation_id}", "", problem, "another observation_id")
            raise ObservationError([fault])
        return False

    def ingest_batch(self, observations: Iterable[Observation]) -> int:
        """Ingest many; returns how many were new."""
        return sum(self.ingest(observation) for observation in observations)

    def attribute(self) -> Verdict:
        """Run filtering to reporting over what is there now; repeatable, consumes nothing."""
        with collector_paused():
            return self._attribute(unwatched)[0]  # the events are gone before the collector could look at them

    def attribute_with_stream(self, watch: Watcher = unwatched) -> tuple[Verdict, EventStream]:
        """Like ``attribute``; also returns the event stream as the phases left it (for walkthroughs and tests).

        ``watch`` is called after each phase.
        """
        with collector_paused():
            return self._attribute(watch)

    def _attribute(self, watch: Watcher) -> tuple[Verdict, EventStream]:
        engine, job = self._engine, self._job
        crashes = self._findings()
        kinds = self._known(self._events.load_kinds(), crashes)
        of_metrics = [kinds.pop(kind) for kind in list(kinds) if kind[0] == EventType.METRIC]
        summaries = list(chain.from_iterable(of_metrics))
        prepared = prepare(kinds, job, engine, made=self._made(summaries))
        stream = prepared.stream
        watch(Stage.EXTRACTED, stream)
        apply_filters(stream, job, engine, crashes)
        watch(Stage.FILTERED, stream)
        apply_refiners(stream, job, engine, crashes, watch)
        watch(Stage.FINAL, stream)
        choice = decide(stream, job, engine.registry, derive_ending(stream, job, engine.registry))
        apply_post_outcome(stream, job, engine, choice, crashes)
        choice.notes.extend(prepared.notes)
        watch(Stage.OUTCOME, stream)
        verdict = build_verdict(
            stream=stream,
            job=job,
            engine=engine,
            choice=choice,
            collections=collect(stream, job, engine, crashes),
            totals=self._totals(prepared.outside_window + series_outside(summaries, job)),
            streams=self._streams(),
            based_on=self._based_on(),
            crashes=crashes,
            staged_hits=prepared.staged_hits,
            version=__version__,
        )
        return verdict, stream

    def _extract(self, observation: Observation) -> None:
        """Run phase 1 over one observation and note the batch."""
        if observation.format is ObservationFormat.PROMETHEUS_MATRIX:
            for event in summarise(observation, self._engine.metric_rules):
                self._events.add(event)
            self._events.record_observation(observation, lines=len(observation.series), size=0, truncated_lines=0)
            return
        if observation.format is ObservationFormat.JSON:
            buffer = from_entries(observation.entries.lines, first_line=observation.first_line)
        else:
            buffer = normalise(observation.text, first_line=observation.first_line)
        LineExtractor(
            plan=self._engine.plans.of(observation.source),
            job=self._job.identity,
            observation=observation,
            buffer=buffer,
            events=self._events,
            crashes=self._crashes,
        ).run()
        self._events.record_observation(
            observation, lines=buffer.lines, size=buffer.bytes, truncated_lines=buffer.truncated_lines
        )

    def _findings(self) -> CrashLog:
        """What is worth telling before any rule of the later phases has run."""
        crashes = CrashLog(dict(self._crashes.crashes))
        for source, diagnostic in self._engine.plans.diagnostics():
            crashes.record_named(f"matcher:{source}", "", diagnostic)
        if not self._job.state_listed:
            crashes.record_named("job.state", "", f"{self._job.state!r} is in no scheduler's state table")
        return crashes

    def _known(self, kinds: EventsByKind, crashes: CrashLog) -> EventsByKind:
        """Rows whose symptom these rules declare; others were extracted with older rules and decide nothing here."""
        registry = self._engine.registry
        unknown = [kind for kind in kinds if kind[2] is not None and kind[2] not in registry]
        for kind in unknown:
            _, rule, symptom, _ = kind
            crashes.record_named(rule, "", f"symptom {symptom!r} is not declared by these rules", len(kinds.pop(kind)))
        return kinds

    def _made(self, summaries: Sequence[Event]) -> list[Event]:
        """What metrics and the scheduler's facts say, as the rules and the job are now."""
        registry = self._engine.registry
        made = evaluate(self._engine.metric_rules, summaries, self._job, registry)
        return made + [fact for fact in scheduler_facts(self._job) if fact.symptom in registry]

    def _totals(self, outside_window: int) -> EvidenceTotals:
        rows = self._events.observations()
        by_source: dict[str, int] = {}
        for row in rows:
            by_source[row.source] = by_source.get(row.source, 0) + row.lines
        return EvidenceTotals(
            observations=len(rows),
            lines=sum(row.lines for row in rows if row.source != "node_metrics"),
            bytes=sum(row.bytes for row in rows),
            by_source=dict(sorted(by_source.items())),
            outside_window=outside_window,
            truncated_lines=sum(row.truncated_lines for row in rows),
            redacted=sum(row.redacted for row in rows),
        )

    def _streams(self) -> dict[str, set[str]]:
        """{source: the streams that were read of it}."""
        found: dict[str, set[str]] = {}
        for row in self._events.observations():
            found.setdefault(row.source, set()).add(row.stream)
        return found

    def _based_on(self) -> BasedOn:
        rows = self._events.observations()
        digest = sha256()
        for identity in sorted(f"{row.observation_id}\0{row.digest}" for row in rows):
            digest.update(f"{identity}\n".encode())
        return BasedOn(batches=len(rows), digest=digest.hexdigest())


def _global_engine() -> RuleEngine:
    engine = attribution_lib._rules_engine  # noqa: SLF001 -- the package's own global, set by setup_rules
    if engine is None:
        msg = "no rules are loaded; call attribution_lib.setup_rules() first or give the Attributor an engine"
        raise AttributionError(msg)
    return engine
