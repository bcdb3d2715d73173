"""How a verdict looks on a terminal: one page, the headline first, every line of a log shown and never interpreted."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from attribution_service.result import EnrichedVerdict

__all__ = ["headline", "print_table", "print_verdict"]

_CHAIN_ROWS = 16
_PIPED_WIDTH = 160
"""A table that goes to a file or a pager is not cut to the 80 columns of an unknown terminal."""
_COLUMNS = (("case", 12), ("ended", 9), ("whose problem", 15), ("sure", 6), ("root symptom", 16), ("bad nodes", 9))
"""Columns of the table with the width below which they say nothing."""
_NODES_SHOWN = 8
_STYLES = {
    "hardware": "red",
    "system_software": "magenta",
    "application": "yellow",
    "ambiguous": "cyan",
    "unattributed": "dim",
    "none": "green",
}
_OWNERS = {
    "hardware": "a physical part",
    "system_software": "what the cluster's operators own",
    "application": "the job's own code, configuration, data or memory demand",
    "ambiguous": "undecided: the evidence fits more than one cause",
    "unattributed": "unknown: it failed and there is no usable evidence",
    "none": "nobody's: it did not fail",
}


def print_verdict(verdict: EnrichedVerdict, case: str) -> None:
    """Print one verdict for people."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(Group(*_parts(verdict, case)))


def print_table(rows: Sequence[tuple[str, EnrichedVerdict]]) -> None:
    """Print one row per verdict: where it came from, how it ended, whose problem, the root, the bad nodes."""
    table = Table(box=None, pad_edge=False)
    for column, width in _COLUMNS:
        fixed = column in ("ended", "whose problem", "sure")
        table.add_column(column, overflow="fold", no_wrap=fixed, min_width=width, max_width=60)
    for case, verdict in rows:
        root = verdict.root_cause.symptom if verdict.root_cause is not None else ""
        nodes = ", ".join(node.node for node in verdict.bad_nodes[:_NODES_SHOWN])
        table.add_row(
            Text(shown(PurePath(case).name)),
            verdict.terminal_state.value,
            Text(verdict.sub_domain.value, style=_STYLES[verdict.sub_domain.value]),
            verdict.confidence.value,
            Text(shown(root)),
            Text(shown(nodes)),
        )
    whole = None if sys.stdout.isatty() else _PIPED_WIDTH
    Console(highlight=False, markup=False, emoji=False, width=whole).print(table)


def headline(verdict: EnrichedVerdict) -> str:
    """What failed, whose problem it is and how sure that is, in one line."""
    root = verdict.root_cause
    what = root.symptom if root is not None else verdict.outcome.value.replace("_", " ")
    state, domain, sure = verdict.terminal_state.value.upper(), verdict.sub_domain.value, verdict.confidence.value
    return f"{state} · {domain} · {what} (confidence {sure})"


def _parts(verdict: EnrichedVerdict, case: str) -> list[RenderableType]:
    style = _STYLES[verdict.sub_domain.value]
    job = verdict.job
    facts = [f"job {job['job_id']}", f"state {job['state'] or 'unknown'}"]
    if job["exit_code"]:
        facts.append(f"exit {job['exit_code']}")
    facts.append(f"{len(job['nodes'])} node{'s' if len(job['nodes']) != 1 else ''}")
    head = Text()
    head.append(shown(headline(verdict)) + "\n", style=f"bold {style}")
    head.append(f"Whose problem: {_OWNERS[verdict.sub_domain.value]}\n")
    head.append(shown(", ".join(facts)), style="dim")
    parts: list[RenderableType] = [Panel(head, title=Text(shown(case)), title_align="left", border_style=style)]
    parts += _root(verdict)
    parts += _nodes(verdict)
    parts += _chain(verdict)
    parts += _alternatives(verdict)
    parts += _coverage(verdict)
    return parts


def _root(verdict: EnrichedVerdict) -> list[RenderableType]:
    root = verdict.root_cause
    if root is None:
        return [Text("No line decided.", style="dim")]
    where = root.stream or root.source
    if root.line_num is not None:
        where += f":{root.line_num}"
    place = [f"node {root.node}" if root.node else "", f"rank {root.rank}" if root.rank is not None else ""]
    place.append(f"device {root.device}" if root.device else "")
    text = Text("Root evidence  ", style="bold")
    text.append(shown(where), style="cyan")
    text.append(f"  rule {root.rule}" + (f" ({root.rule_location})" if root.rule_location else ""), style="dim")
    text.append("\n  " + shown(root.evidence[:600]))
    details = [part for part in (root.timestamp or "", *place, root.recommended_action or "") if part]
    if details:
        text.append("\n  " + shown(" · ".join(details)), style="dim")
    if root.docs:
        text.append("\n  " + shown(root.docs), style="italic")
    return [text]


def _nodes(verdict: EnrichedVerdict) -> list[RenderableType]:
    if not verdict.bad_nodes:
        return [Text("Bad nodes: none named", style="dim")]
    lines = Text("Bad nodes\n", style="bold")
    for node in verdict.bad_nodes[:_NODES_SHOWN]:
        lines.append(f"  {shown(node.node)}", style="red")
        lines.append(f"  {shown(node.why)} ({node.occurrences}×)\n", style="dim")
    rest = verdict.bad_nodes_total - _NODES_SHOWN
    if rest > 0:
        lines.append(f"  and {rest} more\n")
    lines.rstrip()
    return [lines]


def _chain(verdict: EnrichedVerdict) -> list[RenderableType]:
    if not verdict.chain:
        return []
    table = Table(title="What happened, in time order", title_justify="left", box=None, pad_edge=False, expand=True)
    for column in ("when", "where", "symptom"):
        table.add_column(column, no_wrap=column == "when", overflow="fold")
    for row in verdict.chain[:_CHAIN_ROWS]:
        where = f"{row.nodes} nodes" if row.nodes > 1 else (row.node or "?")
        if row.rank is not None and row.nodes <= 1:
            where += f" r{row.rank}"
        what = Text("● " if row.state == "root" else "  ", style="bold")
        what.append(
            shown(row.symptom), style="bold" if row.state == "root" else ("dim" if row.state == "discarded" else "")
        )
        what.append(f" ×{row.occurrences}" if row.occurrences > 1 else "", style="dim")
        if row.explained_by:
            what.append(f"  ← explained by {shown(row.explained_by)}", style="dim")
        table.add_row((row.at or "no time")[:19], Text(shown(where)), what)
    parts: list[RenderableType] = [table]
    if len(verdict.chain) > _CHAIN_ROWS:
        parts.append(Text(f"  and {len(verdict.chain) - _CHAIN_ROWS} more steps (--json shows all)", style="dim"))
    return parts


def _alternatives(verdict: EnrichedVerdict) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if verdict.alternatives:
        text = Text("Also possible\n", style="bold")
        for row in verdict.alternatives[:5]:
            text.append(f"  {row.sub_domain.value}: {shown(row.symptom)}", style=_STYLES[row.sub_domain.value])
            text.append(f"  {shown(row.why)}\n", style="dim")
        text.rstrip()
        parts.append(text)
    if verdict.needed_evidence:
        text = Text("Evidence that would decide\n", style="bold")
        for need in verdict.needed_evidence:
            text.append(f"  {need.source}{f' of {shown(need.node)}' if need.node else ''}: {need.why}\n")
        text.rstrip()
        parts.append(text)
    return parts


def _coverage(verdict: EnrichedVerdict) -> list[RenderableType]:
    read = [f"{row.instance} ({row.lines})" for row in verdict.connector_reports if row.status.value == "ok"]
    missed = [row for row in verdict.connector_reports if row.status.value != "ok"]
    text = Text(f"Evidence {verdict.evidence_status.value}: ", style="dim")
    text.append(shown(", ".join(read) or "nothing was read"), style="dim")
    for row in missed:
        text.append(f"\n  NOT READ {shown(row.instance)}: {shown(row.reason or 'empty')}", style="bold red")
    for finding in verdict.diagnostics:
        text.append(f"\n  finding: {shown(finding.rule)} {shown(finding.error)} ×{finding.count}", style="yellow")
    return [text]
