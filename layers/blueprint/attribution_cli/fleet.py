"""``attribution fleet …``: many jobs as one run, here or on a state machine, and what became of them."""

from __future__ import annotations

import click

from attribution_cli.main import LazyGroup

__all__ = ["fleet"]

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("start", "attribution_cli.fleet_start:start", "Attribute every job of a configuration, and keep a record."),
    ("status", "attribution_cli.fleet_status:status", "Show how far a run is, or which runs there are."),
    ("summary", "attribution_cli.fleet_summary:summary", "Show what a run found, how long it took and what it cost."),
)
"""(name, module:attribute, one line of help) of every sub-command, in the order of the help text."""


@click.group(cls=LazyGroup, table=COMMANDS)
def fleet() -> None:
    """Attribute a fleet of jobs as one run, in this process or on AWS, and follow it.

    Run records are found where the run keeps them: in the folder of --data, else in the deployment that the
    ATTRIBUTION_… variables name, else in the user's data folder.
    """
