"""Checks of the samples: is every rule tried, on what it must find and on what it must not?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attribution_lib.rules.lint.model import Issue, Severity
from attribution_lib.rules.lint.shapes import tree_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.lint.model import LintInput
    from attribution_lib.rules.model import TextRule
    from attribution_lib.rules.samples import LineSample

__all__ = ["NoHit", "NoMiss", "Overlap", "UntriedMember", "near_misses"]


def _names_hit(given: LintInput) -> frozenset[str]:
    return frozenset(
        event.rule
        for _, sample in given.samples()
        if sample.kind.expects_hit
        for event in given.fired(sample.line, sample.source)
    )


class NoHit:
    """A rule that no line shows is a guess."""

    id: ClassVar[str] = "no-hit"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "every rule, family and catalog needs a [[hit]]"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Definitions of which no rule fires on any hit line."""
        hit = _names_hit(given)
        for name, members in given.definitions().items():
            if not any(member.name in hit for member in members):
                yield Issue(self.id, self.severity, members[0].location, name, "no [[hit]] line fires it")


class UntriedMember:
    """Members of a family differ; each deserves a line."""

    id: ClassVar[str] = "untried-member"
    severity: ClassVar[Severity] = Severity.WARNING
    title: ClassVar[str] = "every member of a family should have a [[hit]]"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Members of families that are tried elsewhere."""
        hit = _names_hit(given)
        for members in given.definitions().values():
            if any(member.name in hit for member in members):
                for member in members:
                    if member.name not in hit:
                        yield Issue(self.id, self.severity, member.location, member.name, "no [[hit]] line fires it")


class NoMiss:
    """A near miss shows where a rule ends. It names its rule, or shares a word of fixed text with it."""

    id: ClassVar[str] = "no-miss"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "every rule, family and catalog needs a near [[miss]]"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Definitions that no miss is near to."""
        near = near_misses(given)
        for name, members in given.definitions().items():
            if not near[name]:
                message = 'no [[miss]] is near it (shares a word of its fixed text, or says rule = "…")'
                yield Issue(self.id, self.severity, members[0].location, name, message)


def near_misses(given: LintInput) -> dict[str, list[LineSample]]:
    """{definition: the misses that are near to it}, in the order of the files."""
    misses = [sample for _, sample in given.samples() if not sample.kind.expects_hit]
    words = _words_by_definition(given)
    return {name: [sample for sample in misses if _near(sample, name, found)] for name, found in words.items()}


def _words_by_definition(given: LintInput) -> dict[str, frozenset[str]]:
    words: dict[str, set[str]] = {}
    for rule in given.engine.text_rules:
        words.setdefault(rule.provenance.definition, set()).update(_words(rule))
    return {name: frozenset(found) for name, found in words.items()}


def _words(rule: TextRule) -> frozenset[str]:
    tree = tree_of(rule)
    return frozenset() if tree is None else words_of(tree)


def _near(sample: LineSample, name: str, words: frozenset[str]) -> bool:
    if sample.rule is not None:
        return sample.rule == name or sample.rule.startswith(f"{name}.")
    line = sample.line.lower()
    return any(word in line for word in words)


class Overlap:
    """Two rules on one line are two voices for one fact, unless their authors say so."""

    id: ClassVar[str] = "overlap"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "a rule that fires on another rule's [[hit]] must be named in its also"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Every hit line in every source that its rule looks at."""
        for file, sample in given.samples():
            if not sample.kind.expects_hit or sample.kind.todo:
                continue
            fired = given.fired(sample.line, sample.source)
            own = [event.rule for event in fired if self._path(given, event.rule) in file.rule_paths]
            main = next((name for name in own if name not in sample.also), None)
            if main is None:
                continue
            rule = given.engine.rule(main)
            for source in getattr(rule, "sources", ()):
                for event in given.fired(sample.line, source):
                    if event.rule != main and event.rule not in sample.also:
                        message = f"{event.rule} ({self._path(given, event.rule)}) fires too on {source} lines like it"
                        yield Issue(self.id, self.severity, sample.location, main, message)

    @staticmethod
    def _path(given: LintInput, name: str) -> str:
        return given.engine.location(name).rpartition(":")[0]
