"""From the trace of a run to its steps: what each phase left, and what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.events.event import EventState, EventType
from attribution_lib.phases.stages import Stage
from attribution_lib.phases.times import rfc3339
from dashboard.contexts.model import Fact
from dashboard.contexts.walkthrough import Phase, WalkthroughEvent, WalkthroughStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.tracing import Snapshot, Trace, TracedEvent
    from attribution_service.result import EnrichedVerdict

__all__ = ["steps_of"]

_EVENTS_SHOWN = 200
_EVIDENCE = 300
_TEXTS = {
    Phase.EXTRACTED: (
        "Extracted",
        (
            "Extractors read every line once and turn hits into events; equal ones are folded. Places and clocks are "
            "resolved, and what lies outside of the job's time or speaks of other jobs steps aside."
        ),
    ),
    Phase.FILTERED: (
        "Filtered",
        (
            "Filters look at the whole stream: they set aside what is no evidence here, such as quoted code or noise "
            "that every run prints, and derive events that only several lines together prove."
        ),
    ),
    Phase.SCRUBBED: (
        "Scrubbed",
        "Refiners work node by node: on each of them, a symptom that another one explains is discarded.",
    ),
    Phase.FINAL: (
        "Final",
        (
            "Refiners work on the whole job: what a failure on one node did to all others is discarded. What is left "
            "over may be the root."
        ),
    ),
    Phase.OUTCOME: (
        "Outcome",
        (
            "The most specific symptom that is left decides, if it is far enough above those of other sub-domains; the "
            "rest are alternatives."
        ),
    ),
    Phase.VERDICT: (
        "Verdict",
        (
            "The outcome has one sub-domain, the root one line; nodes that bear it are to inspect unless an "
            "application's error is to blame."
        ),
    ),
}
_STAGES = {
    Phase.EXTRACTED: Stage.EXTRACTED,
    Phase.FILTERED: Stage.FILTERED,
    Phase.SCRUBBED: Stage.SCRUBBED,
    Phase.FINAL: Stage.FINAL,
}


def steps_of(trace: Trace, verdict: EnrichedVerdict) -> tuple[WalkthroughStep, ...]:
    """One step a phase, in order."""
    by_stage = {snapshot.stage: snapshot for snapshot in trace.snapshots}
    steps, before = [], None
    for phase, stage in _STAGES.items():
        steps.append(_event_step(phase, by_stage[stage], before))
        before = by_stage[stage]
    steps.append(_fact_step(Phase.OUTCOME, _outcome_facts(verdict)))
    steps.append(_fact_step(Phase.VERDICT, _verdict_facts(verdict)))
    return tuple(steps)


def _event_step(phase: Phase, snapshot: Snapshot, before: Snapshot | None) -> WalkthroughStep:
    earlier = {} if before is None else {traced.number: traced.event for traced in before.events}
    active = [traced for traced in snapshot.events if traced.event.state is EventState.ACTIVE]
    changed = {traced.number for traced in snapshot.events if before is not None and _changed(traced, earlier)}
    added = {number for number in changed if number not in earlier}
    title, text = _TEXTS[phase]
    return WalkthroughStep(
        phase=phase,
        title=title,
        explanation=text,
        active=len(active),
        removed=len(changed - added),
        added=len(added),
        events=tuple(_event(traced, changed) for traced in _shown(snapshot.events, changed)),
        facts=(),
    )


def _changed(traced: TracedEvent, earlier: Mapping[int, Event]) -> bool:
    old = earlier.get(traced.number)
    return old is None or (old.state, old.event_type) != (traced.event.state, traced.event.event_type)


def _shown(events: Sequence[TracedEvent], changed: set[int]) -> Sequence[TracedEvent]:
    """The first ones that tell something; what the step changed is always among them."""
    telling = [each for each in events if each.event.symptom is not None or each.event.event_type != EventType.MAPPING]
    kept = sorted(range(len(telling)), key=lambda index: (telling[index].number not in changed, index))[:_EVENTS_SHOWN]
    return [telling[index] for index in sorted(kept)]


def _event(traced: TracedEvent, changed: set[int]) -> WalkthroughEvent:
    event = traced.event
    return WalkthroughEvent(
        id=f"e{traced.number}",
        symptom=event.symptom or event.event_type,
        type=event.event_type,
        source=event.source,
        stream=event.stream,
        line_num=event.line_num,
        node=event.node or "",
        rank=event.rank,
        at=rfc3339(event.first.timestamp) or "",
        occurrences=event.occurrences,
        state=event.state.value,
        changed_here=traced.number in changed,
        changed_by=event.changed_by or "",
        explained_by=event.explained_by.symptom if event.explained_by else "",
        rule=event.rule,
        evidence=event.datum[:_EVIDENCE],
    )


def _fact_step(phase: Phase, facts: Iterator[tuple[str, str]]) -> WalkthroughStep:
    title, text = _TEXTS[phase]
    told = tuple(Fact(name=name, value=value) for name, value in facts if value)
    return WalkthroughStep(
        phase=phase, title=title, explanation=text, active=0, removed=0, added=0, events=(), facts=told
    )


def _outcome_facts(verdict: EnrichedVerdict) -> Iterator[tuple[str, str]]:
    root = verdict.root_cause
    yield "outcome", verdict.outcome.value.replace("_", " ")
    yield "root symptom", root.symptom if root else "none"
    yield "read by", f"{root.rule} ({root.rule_location})" if root else ""
    yield "line", root.evidence[:_EVIDENCE] if root else ""
    yield "confidence", verdict.confidence.value
    for row in verdict.alternatives[:5]:
        yield f"alternative: {row.symptom}", row.why


def _verdict_facts(verdict: EnrichedVerdict) -> Iterator[tuple[str, str]]:
    yield "ended", verdict.terminal_state.value
    yield "whose problem", verdict.sub_domain.value.replace("_", " ")
    nodes = ", ".join(node.node for node in verdict.bad_nodes[:20])
    yield "nodes to inspect", nodes or "none"
    yield "nodes to know about", ", ".join(node.node for node in verdict.interesting_nodes[:20])
    for note in verdict.notes[:10]:
        yield "note", note
