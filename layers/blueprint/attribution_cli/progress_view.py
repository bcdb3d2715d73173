"""The bar that shows how many contexts are done."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["contexts_bar"]


def contexts_bar() -> Progress | None:
    """A bar on standard error, not started; None where that is no terminal."""
    if not sys.stderr.isatty():
        return None
    columns = (SpinnerColumn(), TextColumn("contexts"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
