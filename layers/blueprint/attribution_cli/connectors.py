"""``attribution connectors``: what can be configured."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.frameworks import FRAMEWORKS
from attribution_blueprint.reference import configuration_page, rows_of, summary_of
from attribution_cli.terminal import complain

__all__ = ["connectors"]

_FAILED, _BAD_INPUT = 1, 2
_PIPED_WIDTH = 160


@click.command()
@click.argument("name", required=False)
@click.option("--docs", type=click.Path(path_type=Path), metavar="FILE", help="Write the reference page to a file.")
@click.option("--check", is_flag=True, help="With --docs: write nothing; exit status 1 when it is out of date.")
def connectors(name: str | None, docs: Path | None, check: bool) -> None:  # noqa: FBT001 -- click passes flags by name
    """Say what can be configured.

    NAME is a component (slurm), a framework (eca), or both (log.file); without one all are listed.
    """
    if docs is not None:
        sys.exit(_write(docs, check=check))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    if name is None:
        _list(console)
        return
    found = [
        (framework, component)
        for framework in FRAMEWORKS.values()
        for component in framework.names or [""]
        if name in (framework.name, component, f"{framework.name}.{component}")
    ]
    if not found:
        known = ", ".join(
            f"{framework.name}.{part}" if part else framework.name
            for framework in FRAMEWORKS.values()
            for part in framework.names or [""]
        )
        complain(f"{name}: no such connector; accepted: {known}")
        sys.exit(_BAD_INPUT)
    try:
        for framework, component in found:
            _describe(console, framework.name, component)
    except ConfigError as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)


def _list(console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("framework", "component", ""):
        table.add_column(column, no_wrap=bool(column))
    for framework in FRAMEWORKS.values():
        table.add_row(framework.name, "", framework.summary)
        for component in framework.components:
            table.add_row("", component.name, component.summary)
    console.print(table)
    console.print("\nSettings of one: attribution connectors NAME")


def _describe(console: Console, framework: str, component: str) -> None:
    known = FRAMEWORKS[framework]
    console.print(f"[{'.'.join(part for part in (framework, component) if part)}]")
    console.print(summary_of(known, component))
    table = Table(box=None, pad_edge=False)
    for column in ("key", "accepts", "default", ""):
        table.add_column(column, overflow="fold")
    for row in rows_of(known, component):
        table.add_row(row.key, row.accepts, row.default or "(required)", row.text)
    console.print(table)
    console.print("")


def _write(path: Path, *, check: bool) -> int:
    page = configuration_page()
    if path.is_file() and path.read_text(encoding="utf-8") == page:
        return 0
    if check:
        click.echo(f"{path} is out of date; run: make docs", err=True)
        return _FAILED
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    click.echo(f"wrote {path}")
    return 0
