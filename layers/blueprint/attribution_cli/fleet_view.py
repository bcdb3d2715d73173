"""How a fleet looks: progress on a terminal, a page for people, JSON for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attribution_cli.progress_view import ContextsBar
from attribution_cli.terminal import echo_json
from attribution_lib.text.escape import shown
from attribution_service.run_records import IN_PROCESS, RowStatus, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from attribution_blueprint.executions import Execution
    from attribution_service.run_records import RunRecord, RunRow, RunSummary

__all__ = ["FleetProgress", "exit_status", "show_row", "show_runs", "show_status", "show_summary"]

_FAILED, _STILL_RUNNING, _INTERRUPTED = 1, 3, 130
_COUNTS = (
    "contexts",
    "attributed",
    "conflicted",
    "failed",
    "succeeded",
    "found",
    "pending",
    "unreported",
    "left_behind",
)
_ALWAYS = 5
"""So many of them are shown even when they are 0."""


class FleetProgress(ContextsBar):
    """What a fleet tells while it runs, as a bar."""

    def found(self, count: int) -> None:
        """So many contexts there are."""
        self.more(count)

    def ended(self, row: RunRow) -> None:  # noqa: ARG002 -- the protocol's
        """One more is done."""
        self.advance()


def exit_status(summary: RunSummary) -> int:
    """0: done; 1: no verdict written though there were contexts, or adapters failed; 3: goes on; 130: interrupted."""
    if not summary.over:
        return _STILL_RUNNING
    if summary.run.state is RunState.INTERRUPTED:
        return _INTERRUPTED
    totals = summary.totals
    nothing = bool(totals.contexts) and not totals.succeeded
    return _FAILED if nothing or summary.run.errors or summary.run.state is RunState.FAILED else 0


def show_status(summary: RunSummary, execution: Execution | None, *, as_json: bool) -> None:
    """State and totals."""
    if as_json:
        told: dict[str, Any] = {**summary.run.model_dump(mode="json"), "totals": summary.totals.model_dump()}
        echo_json(told | ({} if execution is None else {"execution_status": execution.status}))
        return
    run = summary.run
    _print(f"{run.run_id}: {run.state.value} since {run.started_at}, {_span(summary.duration_seconds)}")
    if execution is not None:
        _print(f"  execution {execution.status} {execution.cause}".rstrip())
    _print(f"  {_counts(summary)}")
    for error in run.errors:
        _print(f"  error: {error}")


def show_row(row: RunRow, *, as_json: bool) -> None:
    """One context on a line."""
    if as_json:
        echo_json(row.model_dump(mode="json"))
        return
    if row.status is not RowStatus.ATTRIBUTED:
        _print(f"  {row.context}: {row.status.value}: {row.reason}")
        return
    unwritten = "" if row.succeeded else f"; NOT WRITTEN: {row.reason}"
    _print(f"  {row.context}: {row.terminal_state} {row.sub_domain} {row.root_symptom or row.outcome}{unwritten}")


def show_runs(runs: Sequence[RunRecord], *, as_json: bool) -> None:
    """The list of runs, newest first."""
    if as_json:
        for run in runs:
            echo_json(run.model_dump(mode="json"))
        return
    if not runs:
        _print("no run is recorded here; see: attribution fleet start --help")
        return
    table = _table("run", "state", "started", "contexts", "what", "by")
    for run in runs:
        contexts = "" if run.contexts is None else str(run.contexts)
        table.add_row(*map(_cell, (run.run_id, run.state.value, run.started_at[:19], contexts, run.source, run.runner)))
    _console().print(table)


def show_summary(summary: RunSummary, *, as_json: bool) -> None:
    """Everything that is known of a run."""
    if as_json:
        echo_json(summary.model_dump(mode="json"))
        return
    run, totals = summary.run, summary.totals
    show_status(summary, None, as_json=False)
    done = totals.contexts - totals.pending
    each = f", {summary.duration_seconds / done:.2f} s a context" if done else ""
    cost = f", about ${summary.cost_dollars:.4f} on AWS" if summary.cost_dollars else ""
    _print(f"  {totals.observations} observations, {totals.lines} lines{each}{cost}")
    _show_counts("whose problem", summary.sub_domains)
    _show_counts("root symptom", summary.symptoms)
    _show_counts("no verdict, or not written, because", summary.reasons)
    if run.state is RunState.INTERRUPTED:
        here = f"go on with: attribution fleet start --run-id {run.run_id} …"
        there = "start the same query again; what has a verdict is found"
        _print(f"  interrupted; {here if run.runner == IN_PROCESS else there}")


def _show_counts(title: str, counts: Mapping[str, int]) -> None:
    if not counts:
        return
    table = _table("", title)
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        table.add_row(_cell(str(count)), _cell(name))
    _console().print(table)


def _counts(summary: RunSummary) -> str:
    totals = summary.totals
    told = [(name, getattr(totals, name)) for name in _COUNTS]
    return ", ".join(
        f"{count} {name.replace('_', ' ')}" for place, (name, count) in enumerate(told) if count or place < _ALWAYS
    )


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in ("", "contexts") else "left")
    return table


def _cell(text: str) -> Text:
    return Text(shown(text))


def _print(text: str) -> None:
    _console().print(shown(text), soft_wrap=True)


def _console() -> Console:
    width = None if sys.stdout is not None and sys.stdout.isatty() else 160
    return Console(highlight=False, markup=False, emoji=False, width=width)
