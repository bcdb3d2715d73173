"""How a run looks: progress on a terminal, plain lines elsewhere; summaries and totals at the end."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Self

from rich.console import Console

from attribution_blueprint.connectors.output.stdout import StdoutSink
from attribution_blueprint.one_context import ContextStatus
from attribution_cli.progress_view import ContextsBar
from attribution_cli.verdict_view import print_table
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from attribution_blueprint.one_context import ContextResult
    from attribution_blueprint.orchestrator import Orchestrator
    from attribution_blueprint.settings import Configuration
    from attribution_service.result import EnrichedVerdict

__all__ = ["RunView"]


class RunView:
    """Everything but verdicts goes to standard error as soon as standard output carries JSON lines."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        formats = {getattr(group.settings, "format", "") for found in configurations for group in found.of("output")}
        self._out = Console(stderr="json" in formats, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._tabled = "table" in formats
        self._many = len(configurations) > 1
        self._totals: Counter[str] = Counter()
        self._rows: list[tuple[str, EnrichedVerdict]] = []
        self._bar = ContextsBar()

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def found(self, count: int) -> None:
        """So many more contexts."""
        self._bar.more(count)

    def ended(self, result: ContextResult) -> None:
        """One context is done: one line, unless a table at the end will show it."""
        if not self._tabled or not result.written:
            self._out.print(shown(_line(result)))
        self._bar.advance()

    def broke(self, configuration: Configuration, reason: str) -> None:
        """A configuration could not even begin."""
        self._out.print(shown(f"{configuration.address}: {reason}"))

    def finished(self, orchestrator: Orchestrator) -> None:
        """A configuration is done: its totals, where they are not the only ones."""
        stats = orchestrator.last_run_stats
        self._totals.update(stats)
        if self._many and (stats["conflicted"] or stats["failed"] or not stats["attempted"]):
            self._out.print(shown(f"{orchestrator.configuration.address}: {_counts(stats)}"))
        for sink in orchestrator.sinks.values():
            if isinstance(sink, StdoutSink):
                alone = self._many and len(sink.rows) == 1  # a file a job: it is named after what it is about
                name = f"{PurePath(orchestrator.configuration.address).stem} " if alone else ""
                self._rows += [(f"{name}{verdict.attributor_id}", verdict) for verdict in sink.rows]
                sink.rows.clear()  # the next configuration may write to the same sink

    def conclude(self) -> None:
        """The table of verdicts if one is wanted, the totals, and the closing line."""
        if self._rows:
            print_table(sorted(self._rows, key=lambda row: row[0]))
        totals = self._totals
        if totals["conflicted"] or totals["failed"] or totals["skipped"] or totals["left_behind"]:
            self._out.print(_counts(totals))
        done, all_of_them = totals["succeeded"], totals["attempted"]
        self._out.print(f"Attribution complete: {done}/{all_of_them} execution contexts succeeded.")


def _line(result: ContextResult) -> str:
    key = result.context.key
    verdict = result.verdict
    if verdict is None:
        return f"{key}: {result.status.value}: {result.reason}"
    root = verdict.root_cause.symptom if verdict.root_cause is not None else verdict.outcome.value
    unwritten = "" if result.written else f"; NOT WRITTEN: {result.reason}"
    partial = "" if verdict.evidence_status == "complete" else f"; evidence {verdict.evidence_status.value}"
    status = ContextStatus.ATTRIBUTED.value
    return f"{key}: {status}: {verdict.terminal_state.value} {verdict.sub_domain.value} {root}{partial}{unwritten}"


def _counts(stats: Counter[str] | dict[str, int]) -> str:
    names = ("discovered", "skipped", "attributed", "conflicted", "failed", "succeeded", "left_behind")
    return ", ".join(f"{stats[name]} {name.replace('_', ' ')}" for name in names if stats[name])
