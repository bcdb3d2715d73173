"""The page of an error: what was asked for, why there is no answer, what to do."""

from __future__ import annotations

from dashboard.contexts.model import Fact, PageContext

__all__ = ["ErrorContext"]


class ErrorContext(PageContext):
    """The page of an error."""

    status: int
    """The HTTP status."""
    problem: str
    """What is wrong; may repeat what was asked for, which may be hostile."""
    advice: str
    """What to do."""
    faults: tuple[Fact, ...]
    """Each field that is wrong, with what is wrong with it."""
