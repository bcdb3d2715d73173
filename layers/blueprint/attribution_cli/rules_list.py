"""``attribution rules list``: what there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from attribution_cli.rules_loading import console, load_rules, rules_option
from attribution_cli.terminal import echo_json
from attribution_lib.rules.reference import kind_of, symptoms_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["list_rules"]

_SHOWN = 3


@click.command("list")
@click.argument("text", default="")
@click.option("--symptoms", is_flag=True, help="List symptoms instead of rules.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@rules_option
def list_rules(text: str, symptoms: bool, as_json: bool, folders: tuple[Path, ...]) -> None:  # noqa: FBT001 -- click passes flags by name
    """List rules or symptoms.

    TEXT keeps the rows that contain it, in any case. Of a rule's symptoms the first are printed; --json has all, and so
    has attribution rules show.
    """
    engine = load_rules(folders)
    rows = _symptom_rows(engine) if symptoms else _rule_rows(engine)
    rows = [row for row in rows if text.lower() in json.dumps(row, ensure_ascii=False).lower()]
    if as_json:
        for row in rows:
            echo_json(row)
        return
    out = console()
    for row in rows:
        out.print("  ".join(_few(cell) if isinstance(cell, list) else str(cell) for cell in row.values()))
    out.print(f"{len(rows)} {'symptoms' if symptoms else 'rules'}", style="bold")


def _few(names: list[str]) -> str:
    """The first names: cascades are about hundreds of symptoms."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _rule_rows(engine: RuleEngine) -> list[dict[str, Any]]:
    return [
        {
            "name": rule.provenance.name,
            "kind": kind_of(rule),
            "status": rule.provenance.status.value,
            "location": str(rule.provenance.location),
            "sources": [str(source) for source in getattr(rule, "sources", ())],
            "symptoms": list(symptoms_of(rule)),
        }
        for rule in engine.rules()
    ]


def _symptom_rows(engine: RuleEngine) -> list[dict[str, Any]]:
    return [
        {
            "name": symptom.name,
            "outcome": symptom.outcome.value,
            "rank": symptom.rank,
            "scope": symptom.scope.value,
            "location": str(symptom.location),
            "aliases": list(symptom.aliases),
        }
        for symptom in sorted(engine.registry, key=lambda symptom: (-symptom.rank, symptom.name))
    ]
