"""``attribution fleet summary``: what a run found, how long it took and what it cost."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from attribution_blueprint.errors import BlueprintError
from attribution_cli.fleet_view import exit_status, show_summary
from attribution_cli.stores import recorded_store
from attribution_cli.terminal import complain
from attribution_service.errors import ServiceError
from attribution_service.run_rows import RunRows

__all__ = ["summary"]

_BAD_INPUT = 2


@click.command()
@click.argument("run_id")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of a local store.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def summary(run_id: str, *, data: Path | None, as_json: bool) -> None:
    """Show what a run found, how long it took and what it cost.

    Exit status 0: it is done; 1: it is done and no verdict was written, or it never came to its jobs; 2: there is no
    such run; 130: it was interrupted; 3: it goes on, and these are its figures so far.
    """
    try:
        with recorded_store(data) as store:
            found = RunRows.of(store, time.time).summary(run_id)
    except (BlueprintError, ServiceError) as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)
    show_summary(found, as_json=as_json)
    sys.exit(exit_status(found))
