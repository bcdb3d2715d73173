"""What a check sees and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from attribution_lib.rules.matching import LineMatcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.observation import Source
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.matching import MatchedEvent
    from attribution_lib.rules.model import Location, Provenance
    from attribution_lib.rules.samples import LineSample, SampleFile

__all__ = ["Check", "Issue", "LintInput", "Severity"]


class Severity(StrEnum):
    """Errors fail the lint, warnings are shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing to mend, or to exclude with a reason. ``subject`` is the name of a rule, a definition or a symptom."""

    check: str
    severity: Severity
    location: Location
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.location} {self.severity} {self.check} {self.subject}: {self.message}"


class LintInput:
    """Loaded rules, their samples, and what fires on each sample (worked out once for all checks)."""

    def __init__(
        self, engine: RuleEngine, files: Sequence[SampleFile], python_sources: Mapping[str, str] | None = None
    ) -> None:
        self.engine = engine
        self.files = tuple(files)
        self.python_sources = dict(python_sources or {})
        """{location path: text} of the Python rule files."""
        self._matchers: dict[Source, LineMatcher] = {}
        self._fired: dict[tuple[Source, str], tuple[MatchedEvent, ...]] = {}

    def fired(self, line: str, source: Source) -> tuple[MatchedEvent, ...]:
        """What fires on a line of this source."""
        found = self._fired.get((source, line))
        if found is None:
            matcher = self._matchers.get(source)
            if matcher is None:
                matcher = self._matchers[source] = LineMatcher(self.engine, source)
            found = tuple(event for matched in matcher.lines(line.encode()) for event in matched.events)
            self._fired[source, line] = found
        return found

    def samples(self) -> Iterator[tuple[SampleFile, LineSample]]:
        """Every line sample with its file."""
        for file in self.files:
            for sample in file.lines:
                yield file, sample

    def definitions(self) -> dict[str, list[Provenance]]:
        """The text rules as their authors wrote them: {name of the rule, family or catalog: its expanded rules}."""
        found: dict[str, list[Provenance]] = {}
        for rule in self.engine.text_rules:
            found.setdefault(rule.provenance.definition, []).append(rule.provenance)
        return found


class Check(Protocol):
    """One check: stateless, told everything it may look at."""

    id: ClassVar[str]
    severity: ClassVar[Severity]
    title: ClassVar[str]
    """One sentence for authors: what is wrong when this check speaks."""

    def run(self, given: LintInput) -> Iterator[Issue]:
        """The issues found, in the order of the rules."""
        ...
