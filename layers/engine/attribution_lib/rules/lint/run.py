"""Running the checks: the literal list of them, exclusions applied, nothing excluded for ever by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.faults import FaultLog
from attribution_lib.rules.files import read_file
from attribution_lib.rules.folders import resolve_folders, rule_files
from attribution_lib.rules.lint.cascades import MutualExplanation
from attribution_lib.rules.lint.coverage import NoHit, NoMiss, Overlap, UntriedMember
from attribution_lib.rules.lint.exclusions import read_exclusions
from attribution_lib.rules.lint.model import Issue, LintInput, Severity
from attribution_lib.rules.lint.needed import NothingAskedFor
from attribution_lib.rules.lint.patterns import (
    DuplicatePattern,
    ExplosivePattern,
    LoosePattern,
    MissingLiteral,
    StrictStart,
    VolatileToken,
)
from attribution_lib.rules.lint.placeholders import Placeholder
from attribution_lib.rules.lint.symptoms import MissingDocs, RankBand, UnreachableSymptom
from attribution_lib.rules.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.lint.exclusions import Exclusion
    from attribution_lib.rules.lint.model import Check

__all__ = ["CHECKS", "UNUSED_EXCLUSION", "lint_folders", "lint_rules"]

CHECKS: tuple[Check, ...] = (
    MissingLiteral(),
    LoosePattern(),
    ExplosivePattern(),
    StrictStart(),
    VolatileToken(),
    DuplicatePattern(),
    NoHit(),
    UntriedMember(),
    NoMiss(),
    Overlap(),
    UnreachableSymptom(),
    MissingDocs(),
    RankBand(),
    MutualExplanation(),
    Placeholder(),
    NothingAskedFor(),
)
UNUSED_EXCLUSION = "unused-exclusion"
"""The id under which an exclusion is reported that excludes nothing (any more)."""


def lint_folders(paths: Sequence[Path | str] | None, engine: RuleEngine) -> list[Issue]:
    """The issues of the rules in these folders (the bundled ones when None), by location.

    Raises ``RuleLoadError`` when a sample file or the list of exclusions cannot be read.
    """
    faults = FaultLog()
    files, exclusions, sources = [], [], {}
    for folder in resolve_folders(paths):
        files += read_samples(folder, engine, faults)
        exclusions += read_exclusions(folder, faults)
        for path in rule_files(folder):
            if path.suffix == ".py":
                sources[f"{folder.label}/{path.name}"] = read_file(path).decode()
    faults.raise_if_any()
    return lint_rules(LintInput(engine, files, sources), exclusions)


def lint_rules(given: LintInput, exclusions: Sequence[Exclusion] = (), checks: Sequence[Check] = CHECKS) -> list[Issue]:
    """Run the checks; an exclusion that excludes nothing is an issue itself."""
    used: set[Exclusion] = set()
    issues = [issue for check in checks for issue in check.run(given) if not _excluded(issue, exclusions, used)]
    issues += _unused(exclusions, used)
    return sorted(issues, key=lambda issue: (issue.location.path, issue.location.line, issue.check, issue.subject))


def _excluded(issue: Issue, exclusions: Sequence[Exclusion], used: set[Exclusion]) -> bool:
    found = [item for item in exclusions if item.check == issue.check and item.covers(issue.subject)]
    used.update(found)
    return bool(found)


def _unused(exclusions: Sequence[Exclusion], used: set[Exclusion]) -> Iterator[Issue]:
    for item in exclusions:
        if item not in used:
            message = f"excludes nothing from {item.check}; delete it"
            yield Issue(UNUSED_EXCLUSION, Severity.ERROR, item.location, item.subject, message)
