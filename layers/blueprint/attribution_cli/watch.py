"""``attribution watch kueue``: keep which node each pod ran on, since nothing else remembers."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import click

from attribution_blueprint.connectors.eca.kueue.adapter import KueueSettings
from attribution_blueprint.connectors.eca.kueue.placements import Recorder
from attribution_blueprint.connectors.eca.kueue.watching import record_placements
from attribution_blueprint.connectors.kubectl import Kubectl
from attribution_blueprint.errors import BlueprintError, ConfigError
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.surfaces import Given, Slot, Surface
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.terminal import complain, log_to_terminal

__all__ = ["watch"]

_BAD_INPUT = 2


@click.group()
def watch() -> None:
    """Record what is gone afterwards."""


@watch.command(cls=ConnectorCommand)
@click.option("--configs", type=click.Path(path_type=Path), help="The TOML file that has [eca.kueue].")
def kueue(configs: Path | None) -> None:
    """Record on which node each pod of a job runs, until interrupted.

    Writes the file that `placements` of [eca.kueue] names; one recorder a cluster is enough.
    """
    log_to_terminal("INFO", "%(levelname)s %(message)s")
    try:
        settings = _settings(configs)
        recorder = Recorder(Path(settings.placements).expanduser())
    except BlueprintError as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    record_placements(Kubectl(settings), recorder, stop)


def _settings(file: Path | None) -> KueueSettings:
    slot = Slot("eca", "kueue", "kueue")
    # Which workloads a run selects is of no matter here, and may be left out.
    any_time = [Given(slot, key, value, Surface.CLI, "watch") for key, value in (("ids", ""), ("since", "1h"))]
    chosen = [*given_arguments(), *any_time]
    for group in read_configuration(file, os.environ, chosen).of("eca"):
        if isinstance(group.settings, KueueSettings) and group.settings.placements:
            return group.settings
    raise ConfigError(["[eca.kueue] placements: missing; accepted: the file to write"])
