"""The bar that shows how many contexts are done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import TaskID

__all__ = ["ContextsBar"]


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
