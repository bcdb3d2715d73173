"""``attribution rules diff BASE``: what changed, and whose verdict it flips."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.cache import cache_folder
from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.rule_history import flipped_verdicts, rules_at
from attribution_cli.rules_loading import REFUSED, console, load_rules, refuse, rules_option
from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.diffing import compare_symptoms
from attribution_lib.rules.folders import bundled_rules
from attribution_lib.rules.loader import load_engine
from attribution_lib.rules.locking import compare_locks, lock_of

if TYPE_CHECKING:
    from rich.console import Console

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["diff"]


@click.command()
@click.argument("base")
@click.option(
    "--cases", type=click.Path(path_type=Path), help="Folder of case folders. Default: samples/cases beside the rules."
)
@rules_option
def diff(base: str, cases: Path | None, folders: tuple[Path, ...]) -> None:
    """Show what changed in the rules since BASE.

    BASE is a git revision or another rules folder. Also shown: the cases whose outcome, root symptom or bad nodes
    differ.
    """
    rules = folders[0] if folders else bundled_rules()
    out = console()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            old = rules_at(base, rules, Path(scratch))
            before = load_engine([old], cache_dir=cache_folder())
        except BlueprintError as error:
            console(stderr=True).print(str(error))
            sys.exit(REFUSED)
        except RuleLoadError as error:
            refuse(error)
        after = load_rules(folders)
        for change in compare_locks(lock_of(before, [old]), lock_of(after, folders or None)):
            out.print(f"rule     {change.kind:<12} {change.rule}")
        for symptom in compare_symptoms(before.registry, after.registry):
            out.print(f"symptom  {symptom.kind:<12} {symptom.symptom} {symptom.detail}".rstrip())
        _print_flips(out, cases or rules.resolve().parent / "samples" / "cases", before, after)


def _print_flips(out: Console, cases: Path, before: RuleEngine, after: RuleEngine) -> None:
    if not cases.is_dir():
        out.print(f"no cases: {cases} is no folder", style="yellow")
        return
    flips = list(flipped_verdicts(cases, before, after))
    for flip in flips:
        out.print(f"verdict  {flip.case}: {flip.before} → {flip.after}")
    out.print(f"{len(flips)} verdicts differ", style="bold")
