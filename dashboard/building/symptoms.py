"""The root line among its neighbours, the table of symptoms with the reason of each fate, and the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.model import RefinerRule
from dashboard.building.stamps import time_note
from dashboard.building.words import folded, symptom_words
from dashboard.contexts.model import Fact
from dashboard.contexts.verdict import BlamedNode, NumberedLine, RootLine, SymptomEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import BadNode, RootCause, SymptomRow

__all__ = ["blamed_nodes", "is_schedulers_word", "root_line", "rule_docs", "symptom_entries"]

_BUILT_IN = {
    "metric_repeats_log": "A log line of the same node says the same.",
    "outside_window": "It happened outside of the job's time.",
}


def root_line(root: RootCause | None, engine: RuleEngine | None) -> RootLine | None:
    """The line that decided and the lines around it, numbered where the line is; None when none did."""
    if root is None:
        return None
    before, after = root.context.before, root.context.after
    line = root.line_num
    return RootLine(
        symptom=root.symptom,
        rule=root.rule,
        rule_known=engine is not None and root.rule in engine.locations,
        rule_location=root.rule_location,
        node=root.node or "",
        rank=root.rank,
        device=root.device or "",
        timestamp=root.timestamp or "",
        time_note=time_note(root),
        source=root.source,
        stream=root.stream,
        line=NumberedLine(number=line, text=root.evidence),
        before=tuple(_numbered(before, None if line is None else line - len(before))),
        after=tuple(_numbered(after, None if line is None else line + 1)),
        context_note="" if before or after else _no_context(root),
        recommended_action=(root.recommended_action or "").removeprefix("vendor: "),
        docs=root.docs,
        payload=tuple(Fact(name=name, value=str(value)) for name, value in root.payload.items()),
    )


def blamed_nodes(nodes: Sequence[BadNode], history: Mapping[str, int], limit: int) -> tuple[BlamedNode, ...]:
    """The first of them, with how often each failed lately."""
    return tuple(
        BlamedNode(
            node=node.node,
            why=node.why,
            symptoms=tuple(node.symptoms),
            occurrences=node.occurrences,
            first_seen=node.first_seen or "",
            last_seen=node.last_seen or "",
            failures_30_days=history.get(node.node),
        )
        for node in nodes[:limit]
    )


def symptom_entries(rows: Sequence[SymptomRow], engine: RuleEngine | None, limit: int) -> tuple[SymptomEntry, ...]:
    """The first rows, each with what became of it and why."""
    roots = {row.symptom for row in rows if row.state == "root"}
    return tuple(
        SymptomEntry(
            symptom=row.symptom,
            source=row.source,
            state=row.state,
            occurrences=row.occurrences,
            nodes=row.nodes,
            node_list=folded(row.node_list),
            ranks=row.ranks,
            first_seen=row.first_seen or "",
            last_seen=row.last_seen or "",
            rule=row.rule,
            changed_by=row.changed_by or "",
            explained_by=row.explained_by or "",
            reason=_reason(row, roots, engine),
        )
        for row in rows[:limit]
    )


def rule_docs(name: str, engine: RuleEngine | None) -> str:
    """What a rule's author says of it, on one line; empty where nothing is known."""
    if engine is None or name not in engine.locations:
        return ""
    rule = engine.rule(name)
    text = str(getattr(rule, "docs", "") or "")
    if not text and isinstance(rule, RefinerRule):
        text = str(getattr(rule.apply, "__doc__", "") or "")
    return " ".join(text.split())


def is_schedulers_word(symptom: str, source: str) -> bool:
    """Whether a symptom is the state that the scheduler gave the job: how it ended, never why."""
    return source == "scheduler" and symptom.startswith("Scheduler state")


def _reason(row: SymptomRow, roots: set[str], engine: RuleEngine | None) -> str:
    if row.state == "root":
        return "The root: nothing that was seen explains it."
    if row.changed_by is None and is_schedulers_word(row.symptom, row.source):
        return "How the scheduler says that the job ended."
    if row.changed_by is None and row.symptom in roots:
        return "The root's symptom once more, read from other lines."
    if row.changed_by is None:
        return "Not explained by anything that was seen."
    cause = f" {symptom_words(row.explained_by)} explains it." if row.explained_by else ""
    why = _BUILT_IN.get(row.changed_by) or rule_docs(row.changed_by, engine)
    deed = "Kept as context" if row.state == "demoted" else "Discarded" if row.state == "discarded" else "Changed"
    return f"{deed} by {row.changed_by}.{cause}{' ' + why if why else ''}"


def _numbered(lines: Sequence[str], first: int | None) -> list[NumberedLine]:
    return [
        NumberedLine(number=None if first is None else first + index, text=line) for index, line in enumerate(lines)
    ]


def _no_context(root: RootCause) -> str:
    if root.source == "scheduler":
        return "The scheduler's word decided; there is no file around it."
    if root.source == "node_metrics":
        return "A metric decided; there are no lines around it."
    return "The verdict keeps no lines around this one: it stands alone in its file, or was read in a batch of its own."
