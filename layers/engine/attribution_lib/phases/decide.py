"""Step 0 (how it ended) and the decision: from surviving symptoms to one outcome.

Pure ranking over the event stream; which symptom explains which was settled before by the refiners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.events.stream import event_order
from attribution_lib.phases.ending import is_independent
from attribution_lib.phases.path import path_nodes
from attribution_lib.rules.contexts import OutcomeChoice
from attribution_lib.rules.model import Scope
from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, sub_domain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.phases.ending import JobEnding
    from attribution_lib.rules.model import SymptomDef
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["CONTENDER_RANK", "MARGIN", "decide", "is_blamable"]

CONTENDER_RANK = 400
"""Symptoms below this rank are consequences, echoes or noise: they never win against a contender."""
CONSEQUENCE_RANK = 300
MARGIN = 100
"""How far the leader must be above the best of every other sub-domain."""


@dataclass(frozen=True, slots=True)
class _Bearing:
    """A symptom and the surviving events that bear it, in order."""

    symptom: SymptomDef
    events: Sequence[Event]

    @property
    def sub_domain(self) -> SubDomain:
        return sub_domain_of(self.symptom.outcome)

    def order(self) -> tuple[object, ...]:
        return (-self.symptom.rank, event_order(self.events[0]))


def _bearing(
    stream: EventStream, registry: GeneratedSymptomRegistry, wanted: Callable[[SymptomDef], bool]
) -> list[_Bearing]:
    """Every wanted symptom that survived, the highest rank first, within a rank the earliest."""
    named = [(name, registry.get(name)) for name in stream.symptoms()]
    return _in_order(_Bearing(symptom, stream.bad([name])) for name, symptom in named if wanted(symptom))


def _in_order(found: Iterable[_Bearing]) -> list[_Bearing]:
    return sorted((bearing for bearing in found if bearing.events), key=_Bearing.order)


def _may_be_root(symptom: SymptomDef) -> bool:
    """A contender: its symptom may be a root and ranks high enough to be one."""
    return symptom.root and symptom.rank >= CONTENDER_RANK


def decide(
    stream: EventStream, job: JobInfo, registry: GeneratedSymptomRegistry, ending: JobEnding | None
) -> OutcomeChoice:
    """Choose the outcome and its root event."""
    field = _bearing(stream, registry, _may_be_root)
    if ending is not None:
        field = _in_order(
            _Bearing(one.symptom, [event for event in one.events if is_independent(event, one.symptom, ending)])
            for one in field
        )
        if not field or ending.outcome is Outcome.SUCCESS:
            return OutcomeChoice(ending.outcome, Confidence.HIGH, ending.event)
    if not field:
        return _without_contenders(stream, registry)
    on_path, aside = _split(field, path_nodes(stream, job, registry))
    choice = _choose(on_path, _uncertain_rivals(on_path[0], stream, registry))
    leader = on_path[0].events[0].symptom
    for one in aside:
        if one.events[0].symptom != leader:
            choice.alternatives.extend(one.events)
            choice.alternative_reasons[one.symptom.name] = (
                f"on {one.events[-1].node}, which bears neither the first failure nor a node that any evidence names"
            )
    return choice


def _split(field: list[_Bearing], nodes: frozenset[str]) -> tuple[list[_Bearing], list[_Bearing]]:
    """What stands on the path or nowhere in particular, and what does not; all is on the path when else nothing is."""
    placed = [one for one in field if is_blamable(one.symptom)] if nodes else []
    on_path = [one for one in field if not (nodes and is_blamable(one.symptom))]
    aside = []
    for one in placed:
        off = [event for event in one.events if event.node is not None and event.node not in nodes]
        aside.append(_Bearing(one.symptom, off))
        near = [event for event in one.events if event.node is None or event.node in nodes] if off else one.events
        on_path.append(_Bearing(one.symptom, near))
    on_path = _in_order(on_path)
    return (on_path, _in_order(aside)) if on_path else (field, [])


def _uncertain_rivals(
    leader: _Bearing, stream: EventStream, registry: GeneratedSymptomRegistry
) -> Sequence[SymptomDef]:
    """What would have contended for another owner, had it not been explained without its time or place, best first.

    Signs of the same owner, and those that leave the owner open, would have changed nothing.
    """
    cleared = [registry.get(name) for name in stream.uncertainly_cleared]
    same = (leader.sub_domain, SubDomain.AMBIGUOUS)
    rivals = [symptom for symptom in cleared if _may_be_root(symptom) and sub_domain_of(symptom.outcome) not in same]
    return sorted(rivals, key=lambda symptom: (-symptom.rank, symptom.name))


def _choose(field: Sequence[_Bearing], uncertain: Sequence[SymptomDef]) -> OutcomeChoice:
    leader = field[0]
    rivals = [one for one in field if one.sub_domain is not leader.sub_domain]
    best = next((one.symptom for one in rivals if one.sub_domain is not SubDomain.AMBIGUOUS), None)
    choice = OutcomeChoice(leader.symptom.outcome, Confidence.HIGH, leader.events[0])
    if best is not None and leader.symptom.rank - best.rank < MARGIN:
        choice.outcome = Outcome.AMBIGUOUS
        choice.lower(Confidence.LOW, f"{best.name} fits about as well, and its owner is another")
    elif best is not None:
        choice.lower(Confidence.MEDIUM, f"{best.name} fits too, though it says less")
    elif leader.sub_domain is SubDomain.AMBIGUOUS:
        choice.lower(Confidence.LOW, "the root evidence leaves open whose problem it is")
    elif uncertain:
        choice.lower(Confidence.MEDIUM, f"{uncertain[0].name} was set aside, which its time and place do not prove")
    for one in rivals:
        if one.symptom.name not in choice.alternative_reasons:
            choice.alternatives.append(one.events[0])
            choice.alternative_reasons[one.symptom.name] = _why_alternative(leader, one)
    return choice


def _why_alternative(leader: _Bearing, other: _Bearing) -> str:
    margin = leader.symptom.rank - other.symptom.rank
    if margin < MARGIN:
        return f"rank {other.symptom.rank} is within {MARGIN} of {leader.symptom.name} ({leader.symptom.rank})"
    return f"rank {other.symptom.rank} is less specific than {leader.symptom.name} ({leader.symptom.rank})"


def _without_contenders(stream: EventStream, registry: GeneratedSymptomRegistry) -> OutcomeChoice:
    """Only consequences, echoes and noise are left: say so, and show the best line there is."""
    ranked = _bearing(stream, registry, lambda _: True)
    consequences = [one for one in ranked if one.symptom.rank >= CONSEQUENCE_RANK]
    communication = [one for one in consequences if one.symptom.outcome is Outcome.COMMUNICATION_FAILURE]
    if communication:
        return _unsure(Outcome.COMMUNICATION_FAILURE, communication[0])
    ambiguous = [one for one in consequences if one.sub_domain is not SubDomain.UNATTRIBUTED]
    if ambiguous:
        return _unsure(Outcome.AMBIGUOUS, ambiguous[0])
    root = ranked[0].events[0] if ranked else None
    return OutcomeChoice(Outcome.UNKNOWN, Confidence.LOW, root, confidence_reason="nothing that was read names a cause")


def _unsure(outcome: Outcome, shown: _Bearing) -> OutcomeChoice:
    reason = "only consequences of the failure were seen, no cause"
    return OutcomeChoice(outcome, Confidence.LOW, shown.events[0], confidence_reason=reason)


def is_blamable(symptom: SymptomDef) -> bool:
    """Whether a node that bears this symptom can be a bad node."""
    return symptom.scope in (Scope.NODE, Scope.DEVICE)
