"""What was read for a verdict, on a terminal: by whom, how much, what was left out, and findings about the rules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from attribution_lib.observation import Source
from attribution_lib.text.escape import shown
from attribution_service.result import ConnectorStatus, EvidenceStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from attribution_service.result import ConnectorReport, EnrichedVerdict

__all__ = ["counted", "coverage", "indented"]

_STAGED_SHOWN = 5
_FILES_SHOWN = 8
"""More files that were read are only counted; those that were not are named."""
_NAMES_SHOWN = 50
_NOTHING = "nothing was read"
_EVIDENCE_READ = {
    EvidenceStatus.COMPLETE: "All that was given was read",
    EvidenceStatus.PARTIAL: "Not all that was given was read",
    EvidenceStatus.NONE: "No evidence",
}


def coverage(verdict: EnrichedVerdict) -> list[RenderableType]:
    """Last on the page: whether all was read, then what was not, what could not count, and rules that failed."""
    reports = verdict.connector_reports
    status = verdict.evidence_status
    if status is EvidenceStatus.COMPLETE and any(row.status is ConnectorStatus.EMPTY and row.reason for row in reports):
        status = EvidenceStatus.PARTIAL  # in words: something lies there that is no part of the evidence
    text = Text(f"{_EVIDENCE_READ[status]}: ", style="dim")
    text.append(shown(_read([row for row in reports if row.lines])), style="dim")
    details = Text()
    for (how, why), names in _alike(row for row in reports if row.status is ConnectorStatus.ERROR):
        details.append(f"{how} {_few(names)}: {why}\n", style="bold red")
    for (how, why), names in _alike(row for row in reports if row.status is not ConnectorStatus.ERROR):
        details.append(f"{how}{_few(names)}{why}\n", style="yellow")
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


def _read(reports: Sequence[ConnectorReport]) -> str:
    """Every file where they are few; of many only how many there are of each source."""
    if len(reports) <= _FILES_SHOWN:
        return ", ".join(f"{row.instance} ({row.lines} {_unit(row)}, {row.source})" for row in reports) or _NOTHING
    sources = Counter(row.source for row in reports)
    by_source = ", ".join(f"{files} of {source}" for source, files in sorted(sources.items()))
    return f"{len(reports)} files ({by_source}; --json names them)"


def _alike(reports: Iterable[ConnectorReport]) -> Iterable[tuple[tuple[str, str], list[str]]]:
    """Files of which the same is to be said, in the order of the first of each; nothing of those just read."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in reports:
        reason = shown(row.reason or "")
        if row.status is ConnectorStatus.ERROR:
            said = ("NOT READ TO ITS END" if row.lines else "NOT READ", reason or "no reason given")
        elif row.status is ConnectorStatus.EMPTY:
            said = ("not read: ", f": {reason}") if reason else ("empty: ", "")
        else:
            said = ("", f": {reason}" if reason else "")
        if any(said):
            found.setdefault(said, []).append(shown(row.instance))
    return found.items()


def _few(names: Sequence[str]) -> str:
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more (--json names them)" if rest > 0 else "")


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
