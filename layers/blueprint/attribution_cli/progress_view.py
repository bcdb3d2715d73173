"""Signs of life on standard error, where that is a terminal: how many contexts are done, how long one thing takes."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from rich.progress import TaskID

__all__ = ["ContextsBar", "at_work"]


class ContextsBar:
    """A bar on standard error as long as it is entered; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._bar = _bar() if sys.stderr.isatty() else None
        self._task: TaskID | None = None
        self._total = 0

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("contexts", total=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def more(self, count: int) -> None:
        """So many more contexts there are."""
        self._total += count
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._total)

    def advance(self) -> None:
        """One more is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)


def _bar() -> Progress:
    columns = (SpinnerColumn(), TextColumn("contexts"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def at_work(what: str) -> AbstractContextManager[object]:
    """Shows, as long as it is entered, what is being done and for how long; nothing where nobody would see it."""
    if not sys.stderr.isatty():
        return nullcontext()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2)
    progress.add_task(what, total=None)
    return progress
