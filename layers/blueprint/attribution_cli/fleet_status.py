"""``attribution fleet status``: how far a run is, or which runs there are."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.executions import RUNNING, StateMachine
from attribution_cli.fleet_view import exit_status, show_row, show_runs, show_status
from attribution_cli.stores import recorded_store
from attribution_cli.terminal import complain, echo_json
from attribution_lib.text.escape import shown
from attribution_service.errors import NotFoundError, ServiceError
from attribution_service.run_rows import RunRows

__all__ = ["status"]

_BAD_INPUT, _STILL_RUNNING = 2, 3


@click.command()
@click.argument("run_id", required=False)
@click.option("--rows", "with_rows", is_flag=True, help="Also one line for each context.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of a local store.")
@click.option("--state-machine", default="", metavar="ARN", help="Also ask Step Functions for the run's execution.")
@click.option("--endpoint-url", default="", help="Another endpoint of Step Functions.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Of the list of runs.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines.")
def status(  # noqa: PLR0913 -- click passes each option by name
    run_id: str | None,
    *,
    with_rows: bool,
    data: Path | None,
    state_machine: str,
    endpoint_url: str,
    limit: int,
    as_json: bool,
) -> None:
    """Show how far a run is, or without RUN_ID which runs there are.

    Exit status 0: it is done; 1: it is done and no verdict was written, or it never came to its jobs; 2: there is no
    such run; 130: it was interrupted; 3: it goes on.
    """
    try:
        with recorded_store(data) as store:
            rows = RunRows.of(store, time.time)
            if run_id is None:
                show_runs(rows.latest(limit), as_json=as_json)
                return
            sys.exit(_one(rows, run_id, StateMachine(state_machine, endpoint_url), rows_too=with_rows, as_json=as_json))
    except (BlueprintError, ServiceError) as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)


def _one(rows: RunRows, run_id: str, machine: StateMachine, *, rows_too: bool, as_json: bool) -> int:
    execution = machine.describe(run_id) if machine.arn else None
    try:
        summary = rows.summary(run_id)
    except NotFoundError:
        if execution is None:
            raise
        # It has not come to its record yet, or never will.
        told = {"run_id": run_id, "execution": execution.arn, "status": execution.status, "cause": execution.cause}
        echo_json(told) if as_json else click.echo(shown(f"{run_id}: {execution.status} {execution.cause}".rstrip()))
        return _STILL_RUNNING if execution.status == RUNNING else 1
    show_status(summary, execution, as_json=as_json)
    if rows_too:
        for row in rows.rows(run_id):
            show_row(row, as_json=as_json)
    dead = execution is not None and execution.status != RUNNING and not summary.over
    return 1 if dead else exit_status(summary)
