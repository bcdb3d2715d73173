"""The chain in words: a line for each mark, a few sentences for the whole picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.building.symptoms import is_schedulers_word
from dashboard.building.words import counted, listed, short_time, symptom_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.verdict import ChainRow
    from attribution_service.result import EnrichedVerdict
    from dashboard.building.chain import Step

__all__ = ["mark_label", "story"]

_SHOWN = 5
_FATES = {
    "root": "the root",
    "remaining": "not explained by anything seen",
    "demoted": "kept as context",
    "discarded": "discarded",
}


def mark_label(step: Step, others: Sequence[Step] = ()) -> str:
    """Everything about a mark in one line; of the others that it stands for, their names."""
    row = step.row
    where = counted(row.nodes, "node") if row.nodes > 1 else row.node or "no node named"
    fate = _FATES[row.state]
    if row.explained_by:
        fate += f": {symptom_words(row.explained_by)} explains it"
    if step.changed_by:
        fate += f" (rule {step.changed_by})"
    names = list(dict.fromkeys(symptom_words(other.row.symptom) for other in others))
    more = f"; here too: {listed(names, shown=_SHOWN)}" if names else ""
    when = short_time(row.at) or "no time"
    return f"{when}, {where}: {symptom_words(row.symptom)}, {counted(row.occurrences, 'line')}; {fate}{more}"


def _stands(step: Step, root: ChainRow | None) -> bool:
    """Whether a symptom stands unexplained beside the root; the scheduler's word on the ending is no finding."""
    row = step.row
    other = root is None or row.symptom != root.symptom
    return row.state == "remaining" and other and not is_schedulers_word(row.symptom, row.source)


def story(verdict: EnrichedVerdict, steps: Sequence[Step]) -> str:
    """What the picture shows, for whoever does not see it."""
    if not steps:
        return "Nothing was found in the evidence that could be drawn."
    parts = []
    root = next((step.row for step in steps if step.row.state == "root"), None)
    if root is not None:
        where = f" on {counted(root.nodes, 'node')}" if root.nodes > 1 else f" on {root.node}" if root.node else ""
        when = f" at {short_time(root.at)} UTC" if root.at else ""
        parts.append(f"The root is {symptom_words(root.symptom)}{where}{when}.")
        explained = list(dict.fromkeys(s.row.symptom for s in steps if s.row.explained_by == root.symptom))
        if explained:
            names = listed([symptom_words(name) for name in explained], shown=_SHOWN)
            parts.append(f"It explains {counted(len(explained), 'symptom')}: {names}.")
    left = list(dict.fromkeys(step.row.symptom for step in steps if _stands(step, root)))
    if left:
        names = listed([symptom_words(name) for name in left], shown=_SHOWN)
        parts.append(f"Not explained by anything seen: {names}.")
    gone = sum(step.row.state in ("discarded", "demoted") for step in steps)
    parts.append(f"{counted(len(verdict.symptoms), 'row')} of symptoms in all, {gone} of them discarded or demoted.")
    return " ".join(parts)
