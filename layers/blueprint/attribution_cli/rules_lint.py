"""``attribution rules lint``: the checks over rules and their samples."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from attribution_cli.rules_loading import REFUSED, console, load_rules, need_samples, refuse, rules_option
from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.lint.model import Severity
from attribution_lib.rules.lint.run import CHECKS, lint_folders

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["lint"]


@click.command()
@click.argument("only", default="")
@click.option("--check", "checks", multiple=True, help="Only this check; may be given several times.")
@click.option("--quiet-warnings", is_flag=True, help="Print errors alone.")
@click.option("--explain-checks", is_flag=True, help="List the checks and what they ask for, then stop.")
@rules_option
def lint(
    only: str,
    checks: tuple[str, ...],
    quiet_warnings: bool,  # noqa: FBT001 -- click passes flags by name
    explain_checks: bool,  # noqa: FBT001 -- likewise
    folders: tuple[Path, ...],
) -> None:
    """Check rules and samples beyond what loading refuses.

    ONLY keeps the issues whose location or subject contains it. Exit status 0 without errors, 3 with any.

    An issue that is right as it is can be excluded in lint/exclusions.toml of the rules folder: [[exclude]] with check,
    subject and reason.
    """
    out = console()
    if explain_checks:
        for check in CHECKS:
            out.print(f"{check.id:<20} {check.severity:<8} {check.title}")
        return
    if not folders:  # of one's own rules it is an issue of each that there is none
        need_samples(folders)
    engine = load_rules(folders)
    try:
        found = lint_folders(folders or None, engine)
    except RuleLoadError as error:
        refuse(error)
    issues = [
        issue
        for issue in found
        if (not checks or issue.check in checks) and (only in str(issue.location) or only in issue.subject)
    ]
    errors = [issue for issue in issues if issue.severity is Severity.ERROR]
    for issue in errors if quiet_warnings else issues:
        out.print(str(issue), style="red" if issue.severity is Severity.ERROR else "yellow")
    out.print(f"{len(errors)} errors, {len(issues) - len(errors)} warnings", style="red" if errors else "green")
    sys.exit(REFUSED if errors else 0)
