"""What ``attribution rules new`` leaves for the author to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attribution_lib.rules.lint.model import Issue, Severity
from attribution_lib.rules.scaffold import PLACEHOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.lint.model import LintInput
    from attribution_lib.rules.model import Location

__all__ = ["Placeholder"]


class Placeholder:
    """A rule whose author, meaning, origin or near miss nobody wrote is not done."""

    id: ClassVar[str] = "placeholder"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "texts that `rules new` leaves for the author must be replaced"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Rules, symptoms and samples that still say what the scaffold said."""
        for rule in given.engine.rules():
            at = rule.provenance
            if at.author == PLACEHOLDERS.author:
                yield self._issue(at.location, at.name, "author", at.author)
        for symptom in given.engine.registry:
            if symptom.name.endswith(PLACEHOLDERS.symptom):
                yield self._issue(symptom.location, symptom.name, "name", PLACEHOLDERS.symptom)
            if symptom.docs == PLACEHOLDERS.docs:
                yield self._issue(symptom.location, symptom.name, "docs", symptom.docs)
        for sample in (line for file in given.files for line in file.lines):
            subject = sample.rule or sample.symptom or ""
            if sample.line == PLACEHOLDERS.miss:
                yield self._issue(sample.location, subject, "line", sample.line)
            elif sample.reason in (PLACEHOLDERS.origin, PLACEHOLDERS.because):
                yield self._issue(sample.location, subject, "origin or because", sample.reason)

    def _issue(self, location: Location, subject: str, key: str, text: str) -> Issue:
        return Issue(self.id, self.severity, location, subject, f"{key} still says {text!r}; expected your own words")
