"""What the pages are made from, whoever asks: made once at the edge, shared by threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.service import Caller
    from dashboard.reading import VerdictReader
    from dashboard.site import Sample

__all__ = ["Library"]


@dataclass(frozen=True, slots=True)
class Library:
    """Verdicts, rules, samples and a clock."""

    reader: Callable[[Caller], VerdictReader]
    """The read port of one caller."""
    engine: Callable[[], RuleEngine]
    """The rules in force."""
    clock: Callable[[], float]
    """Seconds since the epoch."""
    samples: Callable[[], Sequence[Sample]]
    """For the walkthrough; called for its page only, expected to remember."""

    open_sessions: Callable[[Caller, str], Sequence[str]] = lambda _caller, _job_id: ()
    """Sessions on a job of this id that are open, for a page that has no verdict to show."""

    def site(self, caller: Caller, *, walkthrough: bool = False) -> Site:
        """The dashboard as this caller sees it."""
        samples = self.samples() if walkthrough else ()
        return Site(self.reader(caller), self.clock, self.engine, samples)
