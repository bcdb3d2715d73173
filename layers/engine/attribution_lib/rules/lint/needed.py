"""Checks of what verdicts that are not sure ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attribution_lib.rules.lint.model import Issue, Severity
from attribution_lib.rules.needed import needs_of
from attribution_lib.taxonomy import Outcome, SubDomain, sub_domain_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.lint.model import LintInput

__all__ = ["NothingAskedFor"]

_UNDECIDED = (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)


class NothingAskedFor:
    """Who is told that nothing was decided wants to know what would decide it."""

    id: ClassVar[str] = "nothing-asked-for"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "where some [[needed_evidence]] is declared, every undecided outcome must ask for some"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Undecided outcomes that no declaration is about."""
        declared = given.engine.needed
        for outcome in Outcome if declared else ():
            if sub_domain_of(outcome) in _UNDECIDED and not list(needs_of(declared, None, outcome)):
                message = f"a verdict of outcome {outcome.value} asks for nothing"
                yield Issue(self.id, self.severity, declared[0].location, declared[0].name, message)
