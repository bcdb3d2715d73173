"""``attribution rules docs``: the generated reference pages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from attribution_cli.rules_loading import FAILED, console, load_rules, rules_option
from attribution_lib.rules.folders import bundled_rules
from attribution_lib.rules.reference import rules_page, symptoms_page

__all__ = ["docs"]


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the pages. Default: docs/reference beside the rules."
)
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 when a page is out of date.")
@rules_option
def docs(out: Path | None, check: bool, folders: tuple[Path, ...]) -> None:  # noqa: FBT001 -- click passes flags by name
    """Write the reference pages of rules and symptoms."""
    engine = load_rules(folders)
    target = out or (folders[0] if folders else bundled_rules()).resolve().parent / "docs" / "reference"
    stale = []
    for name, text in (("rules.md", rules_page(engine)), ("symptoms.md", symptoms_page(engine))):
        path = target / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            target.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        console().print(f"{path} is out of date; run: attribution rules docs" if check else f"wrote {path}")
    sys.exit(FAILED if check and stale else 0)
