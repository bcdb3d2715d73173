"""``attribution rules show NAME``: everything about one rule or symptom."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from attribution_cli.rules_loading import FAILED, console, load_rules, rules_option
from attribution_lib.rules.description import describe

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["show"]


@click.command()
@click.argument("name")
@rules_option
def show(name: str, folders: tuple[Path, ...]) -> None:
    """Show one rule, family, catalog or symptom.

    NAME may be an alias of a symptom. Exit status 1 when there is nothing of that name.
    """
    engine = load_rules(folders)
    sections = describe(name, engine)
    if not sections:
        similar = [rule.provenance.name for rule in engine.rules() if name.lower() in rule.provenance.name.lower()]
        similar += [symptom.name for symptom in engine.registry if name.lower() in symptom.name.lower()]
        similar = similar or _spelt_alike(name, engine)
        hint = f"; did you mean {', '.join(similar[:8])}?" if similar else ""
        console(stderr=True).print(f"no rule or symptom is named {name!r}{hint}")
        sys.exit(FAILED)
    out = console()
    for title, facts in sections:
        out.print(title, style="bold")
        for key, value in facts:
            out.print(f"  {key:<12} {value}")


def _spelt_alike(name: str, engine: RuleEngine) -> list[str]:
    known = [rule.provenance.name for rule in engine.rules()] + [symptom.name for symptom in engine.registry]
    by_lower = {word.lower(): word for word in known}
    return [by_lower[word] for word in get_close_matches(name.lower(), by_lower, n=3)]
