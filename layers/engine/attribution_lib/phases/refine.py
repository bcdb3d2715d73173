"""Phases 2 and 3: run filters in their strata, then refiners node by node (SCRUB) and job-wide (FINAL).

A rule that raises is a finding: it is counted with its place and the phase goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.events.ordered import kind_of
from attribution_lib.phases.stages import Stage, unwatched
from attribution_lib.rules.bad_events import BadEvents, CascadeScope
from attribution_lib.rules.contexts import FilterContext, RefinerContext, SymptomSet
from attribution_lib.rules.model import RefinerPriority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.ordered import EventsByKind
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.phases.stages import Watcher
    from attribution_lib.rules.contexts import OutcomeChoice
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.model import Provenance, RefinerRule

__all__ = ["CrashLog", "apply_filters", "apply_post_outcome", "apply_refiners"]

METRIC_REPEATS_LOG = "metric_repeats_log"


@dataclass(slots=True)
class CrashLog:
    """Rules that raised: {(rule, location, exception class): count}."""

    crashes: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def record(self, provenance: Provenance, error: Exception, count: int = 1) -> None:
        """Count one crash of a rule."""
        self.record_named(provenance.name, str(provenance.location), type(error).__name__, count)

    def record_named(self, rule: str, location: str, error: str, count: int = 1) -> None:
        """Count a finding by name; ``error`` is an exception class or a short sentence."""
        key = (rule, location, error)
        self.crashes[key] = self.crashes.get(key, 0) + count

    def guard(self, provenance: Provenance, action: Callable[[], None]) -> None:
        """Run a rule; what it raises is recorded and goes no further."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 -- whatever a rule raises must not cost the job its verdict
            self.record(provenance, error)


def apply_filters(stream: EventStream, job: JobInfo, engine: RuleEngine, crashes: CrashLog) -> None:
    """Run every deciding filter in priority order over the whole stream."""
    context = FilterContext(stream, job, engine.registry)
    staged = engine.staged_names
    for rule in engine.filters:
        if rule.provenance.name not in staged:
            crashes.guard(rule.provenance, lambda rule=rule: rule.apply(context))  # type: ignore[misc] # bound now


def apply_refiners(
    stream: EventStream, job: JobInfo, engine: RuleEngine, crashes: CrashLog, watch: Watcher = unwatched
) -> None:
    """SCRUB on each node's bad events and on the unplaced ones, then FINAL on all of them.

    Discards act on the events themselves, so what FINAL removes from the job is removed from its nodes.
    """
    scrub = _between(engine, RefinerPriority.SCRUB, RefinerPriority.FINAL)
    final = _between(engine, RefinerPriority.FINAL, RefinerPriority.POST_OUTCOME)
    bad = BadEvents(stream.lists(type=EventType.BAD_NODE))
    nodes = _ByNode(bad)
    for rule in scrub:
        if _keeps_to_its_node(rule):
            _run((rule,), bad, None, stream, job, engine, crashes)
        elif _may_act(rule, bad):
            for node, inside in nodes.all():
                _run((rule,), inside, node, stream, job, engine, crashes)
    _discard_metric_repeats(stream)
    watch(Stage.SCRUBBED, stream)
    _run(final, BadEvents(stream.lists(type=EventType.BAD_NODE)), None, stream, job, engine, crashes)


def apply_post_outcome(
    stream: EventStream, job: JobInfo, engine: RuleEngine, choice: OutcomeChoice, crashes: CrashLog
) -> None:
    """Run the POST_OUTCOME refiners, which may add alternatives and notes, lower confidence or set the outcome."""
    events = BadEvents(stream.lists(type=EventType.BAD_NODE))
    rules = _between(engine, RefinerPriority.POST_OUTCOME, None)
    _run(rules, events, None, stream, job, engine, crashes, choice=choice)


def _keeps_to_its_node(rule: RefinerRule) -> bool:
    """A cascade within a node or device gives the same over all nodes at once, which a job of 10,000 nodes notices."""
    return rule.relation is not None and rule.relation.scope in (CascadeScope.NODE, CascadeScope.DEVICE)


def _may_act(rule: RefinerRule, events: BadEvents) -> bool:
    """A rule that names its symptoms is not called where none of them is present."""
    return not rule.symptoms or not rule.symptoms.isdisjoint(events.symptoms)


class _ByNode:
    """Bad events node by node, the unplaced ones last; split up when a rule first asks."""

    def __init__(self, bad: BadEvents) -> None:
        self._bad = bad
        self._groups: list[tuple[str | None, BadEvents]] | None = None

    def all(self) -> list[tuple[str | None, BadEvents]]:
        """Every node with its events."""
        if self._groups is None:
            groups: dict[str | None, EventsByKind] = {}
            for event in self._bad:
                groups.setdefault(event.node, {}).setdefault(kind_of(event), []).append(event)
            nodes = sorted(groups, key=lambda name: (name is None, name or ""))
            self._groups = [(node, BadEvents(groups[node].values())) for node in nodes]
        return self._groups


def _between(engine: RuleEngine, low: int, high: int | None) -> Sequence[RefinerRule]:
    staged = engine.staged_names
    return [
        rule
        for rule in engine.refiners
        if rule.priority >= low and (high is None or rule.priority < high) and rule.provenance.name not in staged
    ]


def _run(  # noqa: PLR0913, PLR0917 -- one sub-phase needs exactly this; a context object would only rename it
    rules: Iterable[RefinerRule],
    events: BadEvents,
    node: str | None,
    stream: EventStream,
    job: JobInfo,
    engine: RuleEngine,
    crashes: CrashLog,
    *,
    choice: OutcomeChoice | None = None,
) -> None:
    for rule in rules:
        if not _may_act(rule, events):
            continue
        context = RefinerContext(
            event_stream=stream,
            job=job,
            registry=engine.registry,
            my_bad_nodes=events,
            node=node,
            symptoms=SymptomSet(events, stream) if events else None,
            choice=choice,
        )
        crashes.guard(rule.provenance, lambda rule=rule, context=context: rule.apply(context))  # type: ignore[misc] # bound now


def _discard_metric_repeats(stream: EventStream) -> None:
    """A metric that says what a log line of the same node says (same symptom, so same code) is not a second finding."""
    measured = stream.bad(source="node_metrics")
    logged: dict[tuple[str | None, str | None], Event] = {}
    for event in stream.bad({event.symptom for event in measured if event.symptom is not None}):
        if event.source != "node_metrics":
            logged.setdefault((event.node, event.symptom), event)
    for event in measured:
        if (event.node, event.symptom) in logged:
            stream.discard(event, by=METRIC_REPEATS_LOG, explained_by=logged[(event.node, event.symptom)])
