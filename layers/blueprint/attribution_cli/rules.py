"""``attribution rules …``: the rule author's day."""

from __future__ import annotations

import click

from attribution_cli.main import LazyGroup

__all__ = ["rules"]

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("test", "attribution_cli.rules_test:test", "Run the tests beside the rules."),
    ("lint", "attribution_cli.rules_lint:lint", "Check rules and samples beyond what loading refuses."),
    ("list", "attribution_cli.rules_list:list_rules", "List rules or symptoms."),
    ("show", "attribution_cli.rules_show:show", "Show one rule, family, catalog or symptom."),
    ("match", "attribution_cli.rules_match:match", "Show what the line rules make of every line of FILE."),
    ("new", "attribution_cli.rules_new:new", "Start a rule and its test from a log line."),
    ("docs", "attribution_cli.rules_docs:docs", "Write the reference pages of rules and symptoms."),
    ("diff", "attribution_cli.rules_diff:diff", "Show what changed in the rules since BASE."),
    ("lock", "attribution_cli.rules_lock:lock", "Pin every rule to a version and a hash."),
)
"""(name, module:attribute, one line of help) of every sub-command, in the order of the help text."""


@click.group(cls=LazyGroup, table=COMMANDS)
def rules() -> None:
    """Write, test, check and read the rules."""
