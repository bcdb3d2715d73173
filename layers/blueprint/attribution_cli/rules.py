"""``attribution rules …``: the rule author's day."""

from __future__ import annotations

import click

from attribution_cli.main import LazyGroup

__all__ = ["rules"]

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("test", "attribution_cli.rules_test:test", "Run the tests beside the rules."),
    ("lint", "attribution_cli.rules_lint:lint", "Check rules and samples beyond what loading refuses."),
    ("match", "attribution_cli.rules_match:match", "Show what the line rules make of every line of FILE."),
)
"""(name, module:attribute, one line of help) of every sub-command, in the order of the help text."""


@click.group(cls=LazyGroup, table=COMMANDS)
def rules() -> None:
    """Write, test, check and read the rules."""
