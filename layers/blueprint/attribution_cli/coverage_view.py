"""What was read for a verdict, on a terminal: by whom, how much, what was left out, and findings about the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from attribution_lib.observation import Source
from attribution_lib.text.escape import shown
from attribution_service.result import ConnectorStatus, EvidenceStatus

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attribution_service.result import ConnectorReport, EnrichedVerdict

__all__ = ["counted", "coverage", "indented"]

_STAGED_SHOWN = 5
_EVIDENCE_READ = {
    EvidenceStatus.COMPLETE: "All that was given was read",
    EvidenceStatus.PARTIAL: "Not all that was given was read",
    EvidenceStatus.NONE: "No evidence",
}


def coverage(verdict: EnrichedVerdict) -> list[RenderableType]:
    """Last on the page: whether all was read, then what was not, what could not count, and rules that failed."""
    read = [
        f"{row.instance} ({row.lines} {_unit(row)}, {row.source})" for row in verdict.connector_reports if row.lines
    ]
    text = Text(f"{_EVIDENCE_READ[verdict.evidence_status]}: ", style="dim")
    text.append(shown(", ".join(read) or "nothing was read"), style="dim")
    details = Text()
    for row in verdict.connector_reports:
        if row.status is ConnectorStatus.ERROR:
            how = "NOT READ TO ITS END" if row.lines else "NOT READ"
            details.append(f"{how} {shown(row.instance)}: {shown(row.reason or 'no reason given')}\n", style="bold red")
        elif row.status is ConnectorStatus.EMPTY:
            details.append(f"empty: {shown(row.instance)}\n", style="yellow")
    details.append("".join(f"{line}\n" for line in _left_out(verdict)), style="yellow")
    for rule, hits in sorted(verdict.engine.staged_hits.items())[:_STAGED_SHOWN]:
        details.append(f"staged rule {shown(rule)} matched ×{hits}: counted, decides nothing\n", style="dim")
    for finding in verdict.diagnostics:
        where = f" ({shown(finding.location)})" if finding.location else ""
        details.append(
            f"finding: {shown(finding.rule)}{where} {shown(finding.error)} ×{finding.count}\n", style="yellow"
        )
    details.rstrip()
    return [text, indented(details)] if details else [text]


def _unit(report: ConnectorReport) -> str:
    if report.source == Source.NODE_METRICS:
        return "series"
    return "line" if report.lines == 1 else "lines"


def _left_out(verdict: EnrichedVerdict) -> list[str]:
    """What was read and could not count."""
    totals = verdict.evidence
    lines = []
    if totals.outside_window:
        lines.append(f"{counted(totals.outside_window, 'event')} outside the job's time window left out")
    if totals.truncated_lines:
        lines.append(f"{counted(totals.truncated_lines, 'line')} longer than 1 MiB cut: the rest was not searched")
    return lines


def indented(text: Text) -> Padding:
    """Below its heading, the wrapped rest of a long line too."""
    return Padding(text, (0, 0, 0, 2))


def counted(number: int, noun: str) -> str:
    """``1 event``, ``2 events``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
