"""How a verdict looks on a terminal: one page, the headline first, every line of a log shown and never interpreted."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from attribution_cli.coverage_view import counted, coverage, indented
from attribution_lib.job.states import parse_exit_code
from attribution_lib.taxonomy import Outcome
from attribution_lib.text.escape import shown
from attribution_service.vendor_actions import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from attribution_lib.verdict import ChainRow
    from attribution_service.result import EnrichedVerdict

__all__ = ["headline", "print_table", "print_verdict"]

_CHAIN_ROWS = 16
_LINE_SHOWN = 600
"""Characters of the root line; --json has all of it."""
_TABLE_WIDTH = 70
_BESIDE = 25
"""Columns of a table's time, its gaps and the mark of the root."""
_MIN_WIDTH = 40
"""A terminal narrower than this wraps by itself; a width of nothing would show nothing."""
_PIPED_WIDTH = 160
"""A table that goes to a file or a pager is not cut to the 80 columns of an unknown terminal."""
_COLUMNS = (("case", 12), ("ended", 9), ("whose problem", 15), ("sure", 6), ("root symptom", 16), ("bad nodes", 9))
"""Columns of the table with the width below which they say nothing."""
_NODES_SHOWN, _ALTERNATIVES_SHOWN = 8, 5
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
    "unattributed": "unknown: nothing that was read says",
    "none": "nobody's: it did not fail",
}
_LOST_NODE = "a lost node; no part of it is named"


def print_verdict(verdict: EnrichedVerdict, case: str) -> None:
    """Print one verdict for people."""
    console = _console()
    console.print(Group(*_parts(verdict, case, console.width)))


def print_table(rows: Sequence[tuple[str, EnrichedVerdict]]) -> None:
    """Print one row per verdict: where it came from, how it ended, whose problem, the root, the bad nodes."""
    table = Table(box=None, pad_edge=False)
    for column, width in _COLUMNS:
        fixed = column in ("ended", "whose problem", "sure")
        table.add_column(column, overflow="fold", no_wrap=fixed, min_width=width, max_width=60)
    named = Counter(PurePath(case).name for case, _ in rows)
    for case, verdict in rows:
        name = PurePath(case).name
        root = verdict.root_cause.symptom if verdict.root_cause is not None else ""
        nodes = ", ".join(node.node for node in verdict.bad_nodes[:_NODES_SHOWN])
        table.add_row(
            Text(shown(name if name and named[name] == 1 else case)),
            verdict.terminal_state.value,
            Text(verdict.sub_domain.value, style=_STYLES[verdict.sub_domain.value]),
            verdict.confidence.value,
            Text(shown(root)),
            Text(shown(nodes)),
        )
    _console(None if sys.stdout is not None and sys.stdout.isatty() else _PIPED_WIDTH).print(table)


def _console(width: int | None = None) -> Console:
    """A console that shows text as it is, at least as wide as a line of text needs."""
    console = Console(highlight=False, markup=False, emoji=False, width=width)
    console.width = max(console.width, _MIN_WIDTH)
    return console


def headline(verdict: EnrichedVerdict) -> str:
    """What failed, whose problem it is and how sure that is, in one line."""
    root = verdict.root_cause
    unknown = verdict.outcome is Outcome.UNKNOWN
    what = (
        root.symptom if root is not None else "no cause found" if unknown else verdict.outcome.value.replace("_", " ")
    )
    state, domain, sure = verdict.terminal_state.value.upper(), verdict.sub_domain.value, verdict.confidence.value
    return f"{state} · {domain} · {what} (confidence {sure})"


def _parts(verdict: EnrichedVerdict, case: str, width: int) -> list[RenderableType]:
    style = _STYLES[verdict.sub_domain.value]
    job = verdict.job
    facts = [f"job {job['job_id']}", f"state {job['state'] or 'unknown'}"]
    if job["exit_code"]:
        facts.append(f"exit {job['exit_code']}{_signal(str(job['exit_code']))}")
    facts.append(counted(len(job["nodes"]), "node") if job["nodes"] else "nodes unknown")
    head = Text()
    head.append(shown(headline(verdict)) + "\n", style=f"bold {style}")
    lost = verdict.outcome is Outcome.NODE_DOWN
    head.append(f"Whose problem: {_LOST_NODE if lost else _OWNERS[verdict.sub_domain.value]}\n")
    if verdict.confidence_reason:
        head.append(f"Not surer because {shown(verdict.confidence_reason)}\n")
    head.append(shown(", ".join(facts)), style="dim")
    title = Text(shown(_title(verdict, case)))
    parts: list[RenderableType] = [Panel(head, title=title, title_align="left", border_style=style)]
    parts += _root(verdict)
    parts += _nodes(verdict)
    parts += _chain(verdict, width)
    parts += _alternatives(verdict)
    parts += coverage(verdict)
    return parts


def _signal(exit_code: str) -> str:
    """The signal that an exit code means, by its number and name."""
    status = parse_exit_code(exit_code)
    number = status.signal if status is not None else 0
    name = next((one.name for one in signal.Signals if one == number), "")
    return f" (signal {', '.join(filter(None, (str(number), name)))})" if number else ""


def _title(verdict: EnrichedVerdict, case: str) -> str:
    """The case; of loose files, which are one case together, the first and how many more there are."""
    instances = [report.instance for report in verdict.connector_reports]
    others = len(instances) - 1 if case in instances else 0
    return f"{case} and {counted(others, 'file')} more" if others else case


def _root(verdict: EnrichedVerdict) -> list[RenderableType]:
    root = verdict.root_cause
    if root is None:
        return [Text("No line decided.", style="dim")]
    where = root.stream or root.source
    if root.line_num is not None:
        where += f":{root.line_num}"
    place = [f"node {root.node}" if root.node else "", f"rank {root.rank}" if root.rank is not None else ""]
    place.append(f"device {root.device}" if root.device else "")
    head = Text("Root evidence  ", style="bold")
    head.append(shown(where), style="cyan")
    head.append(f"  rule {root.rule}" + (f" ({root.rule_location})" if root.rule_location else ""), style="dim")
    cut = "…" if len(root.evidence) > _LINE_SHOWN else ""
    text = Text(shown(root.evidence[:_LINE_SHOWN]) + cut)
    advice = f"vendor: {in_words(root.recommended_action)}" if root.recommended_action else ""
    details = [part for part in (root.timestamp or "", *place, advice) if part]
    if details:
        text.append("\n" + shown(" · ".join(details)), style="dim")
    if root.docs:
        text.append("\n" + shown(root.docs), style="italic")
    return [head, indented(text)]


def _nodes(verdict: EnrichedVerdict) -> list[RenderableType]:
    if not verdict.bad_nodes:
        return [Text("Bad nodes: none named", style="dim")]
    lines = Text()
    for node in verdict.bad_nodes[:_NODES_SHOWN]:
        lines.append(shown(node.node), style="red")
        lines.append(f"  {shown(node.why)}, {counted(node.occurrences, 'fault event')} there in all\n", style="dim")
    rest = verdict.bad_nodes_total - _NODES_SHOWN
    if rest > 0:
        lines.append(f"and {rest} more (--json shows them)\n")
    lines.rstrip()
    return [Text("Bad nodes", style="bold"), indented(lines)]


def _chain(verdict: EnrichedVerdict, width: int) -> list[RenderableType]:
    if not verdict.chain:
        return []
    rows = _told(verdict.chain)
    parts: list[RenderableType] = [Text("What happened, in time order", style="bold")]
    parts += [_as_lines(rows, verdict)] if width < _width_for(rows) else [_as_table(rows, verdict)]
    if len(verdict.chain) > len(rows):
        more = len(verdict.chain) - len(rows)
        parts.append(indented(Text(f"and {counted(more, 'step')} more (--json shows all)", style="dim")))
    return parts


def _width_for(rows: Sequence[ChainRow]) -> int:
    """Columns of a table in which no name of a symptom is broken."""
    where = max(len(_where(row)) for row in rows)
    names = [word for row in rows for word in f"{row.symptom} {row.explained_by or ''}".split()]
    return max(_TABLE_WIDTH, _BESIDE + where + max(map(len, names), default=0))


def _as_table(rows: Sequence[ChainRow], verdict: EnrichedVerdict) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("when (UTC)", "where", "symptom"):
        table.add_column(column, no_wrap=column == "when (UTC)", overflow="fold")
    for row in rows:
        table.add_row(_when(row), Text(_where(row)), _what(row, verdict))
    return table


def _as_lines(rows: Sequence[ChainRow], verdict: EnrichedVerdict) -> Group:
    """Two lines a step, for a terminal in which three columns would leave none of them room."""
    heads = (Text(f"{_when(row)}  {_where(row)}".rstrip(), style="dim") for row in rows)
    whats = (indented(_what(row, verdict)) for row in rows)
    return Group(*(part for step in zip(heads, whats, strict=True) for part in step))


def _when(row: ChainRow) -> str:
    return (row.at or "no time")[:19]


def _where(row: ChainRow) -> str:
    if row.nodes > 1:
        return counted(row.nodes, "node")
    if row.ranks > 1:
        return counted(row.ranks, "rank")
    rank = [f"rank {row.rank}"] if row.rank is not None else []
    return shown(" ".join([row.node, *rank] if row.node else rank))


def _what(row: ChainRow, verdict: EnrichedVerdict) -> Text:
    emphasis = {"root": "bold", "discarded": "dim"}.get(row.state, "")
    text = Text("● " if row.state == "root" else "  ", style="bold")
    text.append(shown(row.symptom), style=emphasis)
    text.append(f" ×{row.occurrences}" if row.occurrences > 1 else "", style="dim")
    if row.explained_by:
        text.append(f"  ← explained by {shown(row.explained_by)}", style="dim")
    nodes = verdict.job["nodes"]
    if nodes and row.node and row.node not in nodes:
        text.append("  (not a node of this job)", style="dim")
    return text


def _of_all(source: str, verdict: EnrichedVerdict) -> str:
    nodes = len(verdict.job["nodes"])
    return f" of all {nodes} nodes" if nodes > 1 and source != "applog" else ""


def _told(chain: Sequence[ChainRow]) -> list[ChainRow]:
    """The first steps of a long story, and the root if it comes later: untimed steps stand last."""
    first = list(chain[:_CHAIN_ROWS])
    if any(row.state == "root" for row in first):
        return first
    return first + [row for row in chain[_CHAIN_ROWS:] if row.state == "root"][:1]


def _alternatives(verdict: EnrichedVerdict) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if verdict.alternatives:
        text = Text()
        for row in verdict.alternatives[:_ALTERNATIVES_SHOWN]:
            text.append(f"{row.sub_domain.value}: {shown(row.symptom)}", style=_STYLES[row.sub_domain.value])
            text.append(f"  {shown(row.why)}\n", style="dim")
        text.rstrip()
        parts += [Text("Also possible", style="bold"), indented(text)]
    if verdict.needed_evidence:
        text = Text()
        for need in verdict.needed_evidence:
            of = f" of {shown(need.node)}" if need.node else _of_all(need.source, verdict)
            when = f", {need.from_[:16]} to {need.to[:16]}" if need.from_ and need.to else ""
            text.append(f"{need.source}{of}{when}: {need.why}\n")
        text.rstrip()
        parts += [Text("Evidence that would decide", style="bold"), indented(text)]
    if verdict.notes:
        parts += [Text("Notes", style="bold"), indented(Text("\n".join(map(shown, verdict.notes))))]
    return parts
