"""Phase 5: put what survived, and what was taken out and why, into a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import EventState, EventType
from attribution_lib.job.facts import FACTS_RULE, STATE_SYMPTOMS, scheduler_evidence
from attribution_lib.job.model import StateClass
from attribution_lib.phases.bounded import bounded
from attribution_lib.phases.chain import chain_rows, story, symptom_rows
from attribution_lib.phases.decide import is_blamable
from attribution_lib.phases.needed import needed_evidence
from attribution_lib.phases.nodes import BlamedNodes, bad_nodes, interesting_nodes
from attribution_lib.phases.times import rfc3339
from attribution_lib.taxonomy import Outcome, SubDomain, sub_domain_of
from attribution_lib.verdict import (
    Alternative,
    BasedOn,
    Diagnostic,
    EngineInfo,
    EvidenceContext,
    EvidenceTotals,
    RootCause,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.contexts import OutcomeChoice
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["BAD_NODE_LIMIT", "build_verdict", "job_facts", "shown_event"]

BAD_NODE_LIMIT = 1_000
_ALTERNATIVE_LIMIT = 20
_FAILED = (StateClass.FAILED, StateClass.NODE_FAIL)


def build_verdict(  # noqa: PLR0913 -- a verdict is made of exactly these parts, all keyword-only
    *,
    stream: EventStream,
    job: JobInfo,
    engine: RuleEngine,
    choice: OutcomeChoice,
    collections: Mapping[str, Any],
    totals: EvidenceTotals,
    streams: Mapping[str, Collection[str]],
    based_on: BasedOn,
    crashes: CrashLog,
    staged_hits: Mapping[str, int],
    version: str,
) -> Verdict:
    """The raw verdict: what was decided, what it rests on, and what became of everything else."""
    root = shown_event(stream, choice)
    blamed = _blamed(stream, job, engine, choice)
    told = story(stream, root)
    verdict = Verdict(
        job=job_facts(job),
        outcome=choice.outcome,
        confidence=choice.confidence,
        confidence_reason=choice.confidence_reason,
        failed=_failed(job, choice),
        root_cause=_root_cause(root, job, engine, choice),
        alternatives=_alternatives(choice, engine),
        needed_evidence=needed_evidence(engine.needed, stream, job, choice, streams),
        bad_nodes=list(blamed.rows),
        bad_nodes_total=len(blamed.names),
        interesting_nodes=interesting_nodes(stream, frozenset(blamed.names), BAD_NODE_LIMIT),
        symptoms=symptom_rows(told),
        chain=chain_rows(told, root),
        collections=dict(collections),
        notes=list(choice.notes),
        evidence=totals,
        based_on=based_on,
        diagnostics=_diagnostics(crashes),
        engine=EngineInfo(
            version=version,
            rules_digest=engine.digest,
            rules=engine.rule_count,
            staged_hits=dict(staged_hits),
        ),
    )
    return bounded(verdict)


def _diagnostics(crashes: CrashLog) -> list[Diagnostic]:
    return [
        Diagnostic(rule=rule, location=location, error=error, count=count)
        for (rule, location, error), count in sorted(crashes.crashes.items())
    ]


def shown_event(stream: EventStream, choice: OutcomeChoice) -> Event | None:
    """The event that stands for the root symptom: metrics last, untimed last, then stream and line.

    An ending shows its own line and a fault the chosen node's line; only within the same symptom is there a choice.
    """
    root = choice.root
    if root is None or root.event_type != EventType.BAD_NODE or root.symptom is None:
        return root
    same = [event for event in stream.events(symptom=root.symptom, type=EventType.BAD_NODE) if event.node == root.node]
    return min(
        same or [root],
        key=lambda event: (
            event.source == "node_metrics",
            event.timestamp is None,
            event.timestamp or 0,
            event.stream,
            event.line_num or 0,
            event.source,
            event.rule,
        ),
    )


def _blamed(stream: EventStream, job: JobInfo, engine: RuleEngine, choice: OutcomeChoice) -> BlamedNodes:
    sub_domain = sub_domain_of(choice.outcome)
    if sub_domain not in (SubDomain.HARDWARE, SubDomain.SYSTEM_SOFTWARE, SubDomain.AMBIGUOUS):
        return BlamedNodes()
    symptom, suspects, reason = None, choice.suspects, choice.suspect_reason
    if not suspects:
        root = choice.root
        if root is None or root.symptom is None or not is_blamable(engine.registry.get(root.symptom)):
            return BlamedNodes()
        symptom, reason = root.symptom, "bears the root symptom"
    return bad_nodes(stream, job, symptom=symptom, suspects=suspects, reason=reason, limit=BAD_NODE_LIMIT)


def _failed(job: JobInfo, choice: OutcomeChoice) -> bool:
    if sub_domain_of(choice.outcome) is SubDomain.NONE:
        return False
    if choice.outcome is Outcome.UNKNOWN:
        return job.state_class in _FAILED or (choice.root is not None and choice.root.event_type == EventType.BAD_NODE)
    return True


def _root_cause(root: Event | None, job: JobInfo, engine: RuleEngine, choice: OutcomeChoice) -> RootCause | None:
    if root is None:
        return _from_facts(job, choice)
    symptom = engine.registry.get(root.symptom) if root.symptom else None
    action = str(root.payload.get("action") or (symptom.action if symptom else ""))
    return RootCause(
        symptom=root.symptom or root.event_type,
        rule=root.rule,
        rule_location=engine.location(root.rule),
        node=root.node,
        rank=root.rank,
        device=root.device,
        timestamp=rfc3339(root.timestamp),
        source=root.source,
        observation_id=root.observation_id,
        stream=root.stream,
        line_num=root.line_num,
        evidence=root.datum,
        context=EvidenceContext(before=list(root.context_before), after=list(root.context_after)),
        recommended_action=f"vendor: {action}" if action else None,
        docs=symptom.docs if symptom else "",
        payload={key: root.payload[key] for key in sorted(root.payload)},
    )


def _from_facts(job: JobInfo, choice: OutcomeChoice) -> RootCause | None:
    """Scheduler facts stand in where no line survived; a success needs no cause."""
    if choice.outcome is Outcome.SUCCESS or not (job.state or job.exit_code or job.reason):
        return None
    return RootCause(
        symptom=STATE_SYMPTOMS[job.state_class],
        rule=FACTS_RULE,
        rule_location="",
        node=job.failed_node,
        rank=None,
        device=None,
        timestamp=None,
        source="scheduler",
        observation_id="",
        stream="",
        line_num=None,
        evidence=scheduler_evidence(job),
    )


def _alternatives(choice: OutcomeChoice, engine: RuleEngine) -> list[Alternative]:
    rows: list[Alternative] = []
    seen: set[str] = set()
    for event in choice.alternatives:
        if event.symptom is None or event.symptom in seen or event.state is EventState.DISCARDED:
            continue
        seen.add(event.symptom)
        outcome = engine.registry.get(event.symptom).outcome
        rows.append(
            Alternative(
                outcome=outcome,
                sub_domain=sub_domain_of(outcome),
                symptom=event.symptom,
                why=choice.alternative_reasons.get(event.symptom, "also fits the evidence"),
                evidence=event.datum,
            )
        )
    return rows[:_ALTERNATIVE_LIMIT]


def job_facts(job: JobInfo) -> dict[str, Any]:
    """The job as the verdict repeats it: identity, state and window; node lists in full up to 20,000 names."""
    return {
        "job_id": job.job_id,
        "attempt": job.attempt,
        "cluster": job.cluster,
        "scheduler": job.scheduler.value,
        "user": job.user,
        "name": job.name,
        "partition": job.partition,
        "labels": {key: job.labels[key] for key in sorted(job.labels)},
        "state": job.state,
        "state_class": job.state_class.value,
        "exit_code": job.exit_code,
        "reason": job.reason,
        "nodes": list(job.nodes),
        "failed_node": job.failed_node,
        "start": rfc3339(job.start),
        "end": rfc3339(job.end),
    }
