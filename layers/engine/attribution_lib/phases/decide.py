"""Step 0 (how it ended) and the decision: from surviving symptoms to one outcome.

Pure ranking over the event stream; which symptom explains which was settled before by the refiners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.events.stream import event_order
from attribution_lib.phases.ending import is_independent
from attribution_lib.phases.path import off_path
from attribution_lib.rules.contexts import OutcomeChoice
from attribution_lib.rules.model import Scope
from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, sub_domain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.phases.ending import JobEnding
    from attribution_lib.rules.model import SymptomDef
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["CONTENDER_RANK", "MARGIN", "contenders", "decide"]

CONTENDER_RANK = 400
"""Symptoms below this rank are consequences, echoes or noise: they never win against a contender."""
CONSEQUENCE_RANK = 300
MARGIN = 100
"""How far the leader must be above the best of every other sub-domain."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    event: Event
    symptom: SymptomDef

    @property
    def sub_domain(self) -> SubDomain:
        return sub_domain_of(self.symptom.outcome)

    def order(self) -> tuple[object, ...]:
        return (-self.symptom.rank, *event_order(self.event))


def contenders(stream: EventStream, registry: GeneratedSymptomRegistry) -> list[Event]:
    """Surviving bad events whose symptom may be a root and ranks high enough to be one."""
    return [
        event
        for event in stream.events(type=EventType.BAD_NODE)
        if event.symptom is not None
        and (symptom := registry.get(event.symptom)).root
        and symptom.rank >= CONTENDER_RANK
    ]


def decide(
    stream: EventStream, job: JobInfo, registry: GeneratedSymptomRegistry, ending: JobEnding | None
) -> OutcomeChoice:
    """Choose the outcome and its root event."""
    field = [_Ranked(event, registry.get(event.symptom or "")) for event in contenders(stream, registry)]
    if ending is not None:
        field = [ranked for ranked in field if is_independent(ranked.event, ranked.symptom, ending)]
        if not field or ending.outcome is Outcome.SUCCESS:
            return OutcomeChoice(ending.outcome, Confidence.HIGH, ending.event)
    if not field:
        return _without_contenders(stream, registry)
    aside = off_path(stream, job, registry, [ranked.event for ranked in field])
    on_path = [ranked for ranked in field if ranked.event not in aside] or field
    choice = _choose(sorted(on_path, key=_Ranked.order), uncertain=stream.uncertain_clearing)
    leader = choice.root or on_path[0].event
    if len(on_path) < len(field):
        for ranked in sorted(field, key=_Ranked.order):
            if ranked.event in aside and ranked.event.symptom != leader.symptom:
                choice.alternatives.append(ranked.event)
                choice.alternative_reasons[ranked.symptom.name] = (
                    f"on {ranked.event.node}, which bears neither the first failure nor a node that any evidence names"
                )
    return choice


def _choose(field: Sequence[_Ranked], *, uncertain: bool) -> OutcomeChoice:
    leader = field[0]
    rivals = [ranked for ranked in field if ranked.sub_domain is not leader.sub_domain]
    best = max((ranked.symptom.rank for ranked in rivals if ranked.sub_domain is not SubDomain.AMBIGUOUS), default=None)
    if best is None:
        confidence = Confidence.MEDIUM if uncertain else Confidence.HIGH
        if leader.sub_domain is SubDomain.AMBIGUOUS:
            confidence = Confidence.LOW
        choice = OutcomeChoice(leader.symptom.outcome, confidence, leader.event)
    elif leader.symptom.rank - best >= MARGIN:
        choice = OutcomeChoice(leader.symptom.outcome, Confidence.MEDIUM, leader.event)
    else:
        choice = OutcomeChoice(Outcome.AMBIGUOUS, Confidence.LOW, leader.event)
    for ranked in rivals:
        if ranked.symptom.name not in choice.alternative_reasons:
            choice.alternatives.append(ranked.event)
            choice.alternative_reasons[ranked.symptom.name] = _why_alternative(leader, ranked)
    return choice


def _why_alternative(leader: _Ranked, other: _Ranked) -> str:
    margin = leader.symptom.rank - other.symptom.rank
    if margin < MARGIN:
        return f"rank {other.symptom.rank} is within {MARGIN} of {leader.symptom.name} ({leader.symptom.rank})"
    return f"rank {other.symptom.rank} is less specific than {leader.symptom.name} ({leader.symptom.rank})"


def _without_contenders(stream: EventStream, registry: GeneratedSymptomRegistry) -> OutcomeChoice:
    """Only consequences, echoes and noise are left: say so, and show the best line there is."""
    ranked = sorted(
        (
            _Ranked(event, registry.get(event.symptom))
            for event in stream.events(type=EventType.BAD_NODE)
            if event.symptom is not None
        ),
        key=_Ranked.order,
    )
    consequences = [item for item in ranked if item.symptom.rank >= CONSEQUENCE_RANK]
    communication = [item for item in consequences if item.symptom.outcome is Outcome.COMMUNICATION_FAILURE]
    if communication:
        return OutcomeChoice(Outcome.COMMUNICATION_FAILURE, Confidence.LOW, communication[0].event)
    ambiguous = [item for item in consequences if sub_domain_of(item.symptom.outcome) is not SubDomain.UNATTRIBUTED]
    if ambiguous:
        return OutcomeChoice(Outcome.AMBIGUOUS, Confidence.LOW, ambiguous[0].event)
    return OutcomeChoice(Outcome.UNKNOWN, Confidence.LOW, ranked[0].event if ranked else None)


def is_blamable(symptom: SymptomDef) -> bool:
    """Whether a node that bears this symptom can be a bad node."""
    return symptom.scope in (Scope.NODE, Scope.DEVICE)
