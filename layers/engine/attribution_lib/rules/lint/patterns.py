"""Checks of one pattern: is it cheap to look for, and does it mean one thing?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from attribution_lib.rules.lint.model import Issue, Severity
from attribution_lib.rules.lint.shapes import required_literal, starts_loose, states_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.lint.model import LintInput
    from attribution_lib.rules.model import TextRule

__all__ = ["DuplicatePattern", "ExplosivePattern", "LoosePattern", "MissingLiteral", "StrictStart", "VolatileToken"]

_SHORTEST_LITERAL = 4
_MOST_STATES = 3000
_VOLATILE = re.compile(
    r"\b(?:19|20)\d\d-\d\d"  # a date
    r"|\b0x[0-9a-f]{5,}"  # an address
    r"|\b\d{6,}\b"  # a pid, a port with something, a counter
    r"|\bnode-?\d+"  # a host
    r"|\b(?!127|0)\d{1,3}\\\.\d{1,3}\\\.\d{1,3}\\\.\d{1,3}",  # an IPv4 address
    re.IGNORECASE,
)


def _issue(check: _PatternCheck, rule: TextRule, message: str) -> Issue:
    return Issue(check.id, check.severity, rule.provenance.location, rule.name, message)


class _PatternCheck:
    """Runs ``problem`` on every text rule."""

    id: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str]

    def run(self, given: LintInput) -> Iterator[Issue]:
        """One issue a rule at most."""
        for rule in given.engine.text_rules:
            message = self.problem(rule)
            if message:
                yield _issue(self, rule, message)

    def problem(self, rule: TextRule) -> str:
        """What is wrong with this rule's pattern; empty when nothing is."""
        raise NotImplementedError


class MissingLiteral(_PatternCheck):
    """Lines are found by their fixed text first; a pattern without any is tried on every line."""

    id = "missing-literal"
    title = "a pattern must require at least four letters of fixed text in a row"

    def problem(self, rule: TextRule) -> str:
        """Shorter than four letters."""
        tree = tree_of(rule)
        if tree is None:
            return "uses syntax that the accelerator cannot read, so it is tried on every line"
        length = required_literal(tree)
        return "" if length >= _SHORTEST_LITERAL else f"requires only {length} letters of fixed text in a row"


class LoosePattern(_PatternCheck):
    """``.*foo`` finds no more than ``foo``."""

    id = "loose-start"
    title = "a pattern must not begin with .* or the like"

    def problem(self, rule: TextRule) -> str:
        """Begins with a wildcard."""
        tree = tree_of(rule)
        loose = tree is not None and starts_loose(tree)
        return "begins with a wildcard; leave it out, patterns are searched anywhere in the line" if loose else ""


class ExplosivePattern(_PatternCheck):
    """``(?:.{0,200},){0,50}`` is ten thousand states, in every matcher of every process."""

    id = "explosive"
    title = "counted repeats must not multiply to thousands of states"

    def problem(self, rule: TextRule) -> str:
        """Too many states."""
        tree = tree_of(rule)
        states = 0 if tree is None else states_of(tree)
        return f"costs about {states} states; {_MOST_STATES} are plenty" if states > _MOST_STATES else ""


class StrictStart(_PatternCheck):
    """Whatever a launcher puts in front of a line makes ``^Traceback`` miss it."""

    id = "strict-start"
    title = "a pattern must not rely on standing at the very start of a line"

    def problem(self, rule: TextRule) -> str:
        """Begins with ^."""
        strict = rule.match_re.startswith(("^", r"\A"))
        return r"begins with ^, which prefixes like '[rank3]: ' defeat; write (?:^|[\s:\]\)|>])" if strict else ""


class VolatileToken(_PatternCheck):
    """A pattern made from one line must not keep that line's date, address or host."""

    id = "volatile-token"
    title = "a pattern must not hold dates, addresses, process ids or host names"

    def problem(self, rule: TextRule) -> str:
        """Holds something that the next line will not."""
        found = _VOLATILE.search(rule.match_re)
        return f"holds {found.group()!r}, which the next such line will not" if found else ""


class DuplicatePattern:
    """Two rules with one pattern are one rule too many."""

    id: ClassVar[str] = "duplicate-pattern"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "two rules for the same source must not have the same pattern"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """The later one of each pair."""
        seen: dict[tuple[str, str], TextRule] = {}
        for rule in given.engine.text_rules:
            for source in rule.sources:
                first = seen.setdefault((rule.match_re, source), rule)
                if first is not rule:
                    message = f"has the pattern of {first.name} ({first.provenance.location})"
                    yield Issue(self.id, self.severity, rule.provenance.location, rule.name, message)
                    break
