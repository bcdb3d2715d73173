"""``attribution export``: what the service keeps in a folder, as plain tables for SQL tools."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import click

from attribution_blueprint.errors import BlueprintError, EvidenceError
from attribution_blueprint.places import data_folder
from attribution_cli.stores import telling_where
from attribution_cli.terminal import complain
from attribution_service.errors import ServiceError
from attribution_service.stores.local import DATABASE

__all__ = ["export"]


@click.command()
@click.argument("target", metavar="TARGET.db", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Folder that serve or fleet start was given.")
def export(target: Path, data: Path | None) -> None:
    """Copy what a local store keeps into tables of a SQLite file.

    Sessions, batches, verdicts, nodes, judgements and runs; one column an attribute. Tables that are there are
    replaced. The service may go on meanwhile. Exit status 2 when there is no store, or the target cannot be written.
    """
    try:
        counts = _copied(data or data_folder(), target)
    except (BlueprintError, ServiceError) as error:
        complain(str(error))
        raise SystemExit(2) from None
    for name, count in counts.items():
        click.echo(f"{count:>8}  {name}")


def _copied(folder: Path, target: Path) -> dict[str, int]:
    """{table: rows}; ``EvidenceError`` when there is nothing to copy, or the target is no SQLite file."""
    from attribution_service.stores.local_export import export_tables  # noqa: PLC0415 -- sqlite-utils is slow to import

    if not (folder / DATABASE).is_file():
        msg = f"--data {folder}: has no {DATABASE}; expected the folder that serve or fleet start was given"
        raise EvidenceError(msg)
    if target.resolve().parent == folder.resolve():
        msg = f"{target}: lies in the store's own folder; expected a file elsewhere"
        raise EvidenceError(msg)
    with telling_where(folder):
        try:
            return export_tables(folder, target)
        except (sqlite3.Error, OSError) as error:
            msg = f"{target}: cannot be written ({error}); expected a new file, or a SQLite file that may change"
            raise EvidenceError(msg) from error
