"""``attribution fleet start``: a fleet in this process, or on a state machine."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
from attribution_blueprint.errors import BlueprintError, ConfigError
from attribution_blueprint.executions import StateMachine
from attribution_blueprint.fleet import Fleet
from attribution_blueprint.places import data_folder
from attribution_blueprint.runs import Services, configuration_files, read_all
from attribution_blueprint.surfaces import Given, Slot, Surface
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.fleet_view import FleetProgress, exit_status, show_summary
from attribution_cli.run import stopped_by_signals, tell_of_nothing_to_read
from attribution_cli.stores import telling_where
from attribution_cli.terminal import complain, echo_json, log_level_option, log_to_terminal
from attribution_lib.fields import is_identifier
from attribution_service.errors import ServiceError
from attribution_service.run_rows import RunRows
from attribution_service.stores.local import local_store
from attribution_service.ulids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.attribution.base import AttributionConnector
    from attribution_blueprint.settings import Configuration
    from attribution_service.service import Service

__all__ = ["start"]

_FAILED, _BAD_INPUT = 1, 2


@click.command(cls=ConnectorCommand)
@click.option("--configs", type=click.Path(path_type=Path), help="One TOML file, as attribution run takes it.")
@click.option("--run-id", default=None, help="Name of the run [default: a new one]; of an interrupted run: go on.")
@click.option("--again", is_flag=True, help="Also attribute what has a verdict already; kept with --run-id.")
@click.option("--include-completed", is_flag=True, default=None, help="Also attribute jobs that completed.")
@click.option("--state-machine", default="", metavar="ARN", help="Start it there; --configs is the deployment's then.")
@click.option("--adapter", default="", help="With --state-machine: the eca that knows the jobs.")
@click.option("--query", multiple=True, metavar="KEY=VALUE", help="With --state-machine: a setting of the adapter.")
@click.option("--endpoint-url", default="", help="With --state-machine: another endpoint of Step Functions.")
@click.option("--wait", is_flag=True, help="With --state-machine: until it is over.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
@log_level_option()
def start(configs: Path | None, *, run_id: str | None, log_level: str, as_json: bool, **options: Any) -> None:
    """Attribute every job of a configuration, and keep a record.

    Takes the configuration of attribution run, with --connector and NVAB_… variables. Verdicts go to the configured
    outputs (stdout left out) and to the local store. Exit status 0: done; 1: there were jobs and no verdict was
    written, or a scheduler could not be asked; 2: bad input; 130: interrupted, and --run-id goes on.
    """
    log_to_terminal(log_level)
    name = run_id or new_ulid(time.time())
    try:
        if not is_identifier(name):
            raise ConfigError([f"--run-id {name!r}: is no id; accepted: letters, digits and _.:+-"])
        if options["state_machine"]:
            sys.exit(_on_state_machine(name, options, as_json=as_json))
        _refuse_alone(options)
        configuration = _configuration(configs, options)
        tell_of_nothing_to_read([configuration])
        sys.exit(_here(configuration, name, again=options["again"], as_json=as_json))
    except (BlueprintError, ServiceError) as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)


def _refuse_alone(options: dict[str, Any]) -> None:
    """Options that mean nothing in this process."""
    faults = [
        f"--{name.replace('_', '-')}: goes with --state-machine only; accepted here: --connector eca … for the query"
        for name in ("adapter", "query", "endpoint_url", "wait")
        if options[name]
    ]
    if faults:
        raise ConfigError(faults)


def _configuration(file: Path | None, options: dict[str, Any]) -> Configuration:
    completed = options["include_completed"]
    flags = (
        []
        if completed is None
        else [Given(Slot("run"), "include_completed", completed, Surface.CLI, "--include-completed")]
    )
    files = configuration_files([] if file is None else [file])
    if len(files) > 1:
        raise ConfigError(
            [f"--configs {file}: holds {len(files)} files; accepted: one file, a fleet is one configuration"]
        )
    (found,) = read_all(files, os.environ, [*given_arguments(), *flags])
    if not found.of("eca"):
        raise ConfigError(
            [f"{found.address}: no eca is configured; accepted: [eca.COMPONENT], see: attribution connectors"]
        )
    return found


def _here(configuration: Configuration, run_id: str, *, again: bool, as_json: bool) -> int:
    """The whole fleet in this process."""
    stop, given = threading.Event(), configuration.attribution.data
    data = Path(given).expanduser() if given else data_folder()
    with Services().closing() as services, stopped_by_signals(stop):
        service = services.of(configuration.attribution)
        with _records(data, service) as (rows, verdicts), FleetProgress() as progress:
            click.echo(f"run {run_id}; follow it with: attribution fleet status {run_id} --data {data}", err=True)
            summary = Fleet(configuration, service, rows, run_id, verdicts, again, progress, stop).run()
    show_summary(summary, as_json=as_json)
    return exit_status(summary)


@contextmanager
def _records(data: Path, service: AttributionConnector) -> Iterator[tuple[RunRows, Service | None]]:
    """Where the run's record is kept, and the verdicts where they are made here: unlike sessions, on the disk."""
    with telling_where(data), local_store(data) as store:
        verdicts = replace(service.service, store=store) if isinstance(service, InProcessAttribution) else None
        yield RunRows.of(store, time.time), verdicts


def _on_state_machine(run_id: str, options: dict[str, Any], *, as_json: bool) -> int:
    """Start it, and say under which name; with ``wait`` how it ended."""
    if not options["adapter"]:
        raise ConfigError(["--adapter: missing; accepted: the name of an eca of the deployment's configuration"])
    machine = StateMachine(options["state_machine"], options["endpoint_url"])
    request = {"adapter": options["adapter"], "query": _query(options["query"]), "again": options["again"]}
    execution = machine.start(run_id, request)
    if not options["wait"]:
        told = {"run_id": run_id, "execution": execution.arn}
        echo_json(told) if as_json else click.echo(f"run {run_id}\nexecution {execution.arn}")
        return 0
    over = machine.wait(run_id) or execution
    told = {"run_id": run_id, "execution": over.arn, "status": over.status, "cause": over.cause}
    told |= {"totals": json.loads(over.output)} if over.output else {}
    echo_json(told) if as_json else click.echo(f"run {run_id}\n{over.status} {over.output or over.cause}")
    return 0 if over.status == "SUCCEEDED" else _FAILED


def _query(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``since=1h`` and the like; a value that is JSON is taken as such."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ConfigError([f"--query {pair!r}: is no setting; accepted: KEY=VALUE"])
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
