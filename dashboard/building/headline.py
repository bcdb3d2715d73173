"""A verdict in four sentences, and a listing's row in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.taxonomy import Outcome, SubDomain
from attribution_service.result import EvidenceStatus
from attribution_service.vendor_actions import in_words
from dashboard.building.words import (
    CERTAINTY,
    ENDINGS,
    LOST_NODE,
    OWNERS,
    counted,
    listed,
    outcome_words,
    symptom_words,
)
from dashboard.contexts.verdict import Headline

if TYPE_CHECKING:
    from attribution_lib.verdict import RootCause
    from attribution_service.model import VerdictHead
    from attribution_service.result import EnrichedVerdict

__all__ = ["headline_of", "headline_of_head"]

_TO_DO = "What to do:"
_NODES_SHOWN = 3
_WHO = {
    SubDomain.HARDWARE: "whoever repairs the machines",
    SubDomain.SYSTEM_SOFTWARE: "whoever operates the cluster",
    SubDomain.APPLICATION: "the job's owner",
}


def headline_of(verdict: EnrichedVerdict) -> Headline:
    """What failed, whose problem it is, how sure that is, what to do."""
    root = verdict.root_cause
    nodes = [bad.node for bad in verdict.bad_nodes]
    return Headline(
        what=_what(verdict.outcome, verdict.sub_domain, root.symptom if root else None, nodes, verdict.bad_nodes_total),
        owner=LOST_NODE if verdict.outcome is Outcome.NODE_DOWN else OWNERS[verdict.sub_domain],
        certainty=_certainty(verdict),
        next_step=_next_step(verdict),
        terminal_state=verdict.terminal_state,
        sub_domain=verdict.sub_domain,
        outcome=verdict.outcome,
        confidence=verdict.confidence,
    )


def headline_of_head(head: VerdictHead) -> str:
    """What failed and where, by what a listing knows."""
    return _what(head.outcome, head.sub_domain, head.symptom, head.bad_nodes, head.bad_nodes_total).removesuffix(".")


def _what(outcome: Outcome, sub_domain: SubDomain, symptom: str | None, nodes: list[str], total: int) -> str:
    where = f" on {listed(nodes, total, _NODES_SHOWN)}" if nodes else ""
    seen = symptom_words(symptom) if symptom else ""
    if sub_domain is SubDomain.NONE:
        ending = ENDINGS.get(outcome, "The job did not fail")
        return f"{ending}."
    if outcome is Outcome.UNKNOWN:
        return f"No cause found; the last word is: {seen}." if seen else "No cause found."
    if sub_domain is SubDomain.AMBIGUOUS:
        return f"{seen or 'The evidence'}{where}; more than one cause fits."
    return f"{seen or outcome_words(outcome)}{where}."


def _certainty(verdict: EnrichedVerdict) -> str:
    root = verdict.root_cause
    sure, reason = verdict.confidence, verdict.confidence_reason
    parts = [f"{sure.value.capitalize()} confidence: {reason}" if reason else CERTAINTY[sure]]
    if root is not None and root.line_num is not None:
        parts.append(f"it rests on line {root.line_num:,} of {root.stream or root.source}, read by rule {root.rule}")
    elif root is not None and root.source:
        parts.append(f"it rests on {root.source}, read by rule {root.rule}")
    if verdict.evidence_status is EvidenceStatus.PARTIAL:
        parts.append("but not everything was read, see the coverage")
    elif verdict.evidence_status is EvidenceStatus.NONE:
        parts.append("but no evidence was read at all")
    return "; ".join(parts) + "."


def _next_step(verdict: EnrichedVerdict) -> str:
    root, nodes = verdict.root_cause, [bad.node for bad in verdict.bad_nodes]
    if verdict.sub_domain is SubDomain.NONE:
        if not verdict.alternatives:
            return "Nothing."
        return f"See whether it hung before it was stopped: {symptom_words(verdict.alternatives[0].symptom)}."
    steps = []
    if nodes:
        names = listed(nodes, verdict.bad_nodes_total, _NODES_SHOWN)
        sure = verdict.sub_domain is not SubDomain.AMBIGUOUS
        steps.append(f"Take {names} out and inspect." if sure else f"Look at {names} before more jobs run there.")
    if root is not None and root.recommended_action:
        steps.append(f"The vendor says: {in_words(root.recommended_action)}.")
    if root is not None:
        steps += _from_docs(root)
    if not steps and verdict.sub_domain in _WHO:
        steps.append(_to_whom(verdict))
    if verdict.needed_evidence and (not steps or verdict.sub_domain is SubDomain.AMBIGUOUS):
        wanted = verdict.needed_evidence[0]
        steps.append(f"Read {wanted.source}{' of ' + wanted.node if wanted.node else ''}: {wanted.why.rstrip('.')}.")
    if not steps:
        steps.append("Read what the coverage says was not read, and attribute again.")
    return " ".join(steps)


def _from_docs(root: RootCause) -> list[str]:
    _, marker, advice = root.docs.partition(_TO_DO)
    text = advice.strip()
    return [text[:1].upper() + text[1:]] if marker and text else []


def _to_whom(verdict: EnrichedVerdict) -> str:
    root, who = verdict.root_cause, _WHO[verdict.sub_domain]
    if verdict.sub_domain is SubDomain.APPLICATION:
        who = str(verdict.job.get("user") or who)
    if root is None or root.line_num is None:
        return f"Tell {who}."
    count = len(verdict.alternatives)
    others = f" {counted(count, 'other cause')} also fit{'s' if count == 1 else ''}, see below." if count else ""
    return f"Show {who} line {root.line_num:,} of {root.stream or root.source}.{others}"
