"""``attribution run``: discover jobs, collect their evidence, have it attributed, write the verdicts."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.discovery import discover, planned, sources_of
from attribution_blueprint.errors import AttributionFailedError, BlueprintError, ConfigError
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.runs import Services, Sinks, configuration_files, read_all
from attribution_blueprint.surfaces import Given, Slot, Surface
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.run_view import RunView
from attribution_cli.terminal import complain, log_level_option, log_to_terminal
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_blueprint.settings import Configuration

__all__ = ["run", "stopped_by_signals", "tell_of_nothing_to_read"]

_FAILED, _BAD_INPUT, _INTERRUPTED = 1, 2, 130


@click.command(cls=ConnectorCommand)
@click.option("--configs", multiple=True, type=click.Path(path_type=Path), help="TOML files, or folders of them.")
@click.option("--dry-run", is_flag=True, help="Show which jobs would be attributed, and what would be read from where.")
@click.option("--strict", is_flag=True, default=None, help="Fail unless the evidence of every verdict is complete.")
@click.option("--include-completed", is_flag=True, default=None, help="Also attribute jobs that completed.")
@click.option("--retry-conflicts", type=int, metavar="N", help="Try conflicting contexts again, up to N times.")
@log_level_option()
def run(configs: tuple[Path, ...], *, dry_run: bool, log_level: str, **flags: bool | int | None) -> None:
    """Attribute jobs: discover, collect, submit, enrich, write.

    Each configuration is one file; --connector and NVAB_… variables apply to all. Exit status 0: done, or nothing to
    do; 1: a configuration had contexts and no verdict was written, a scheduler could not be asked, or --strict was not
    met; 2: bad configuration; 130: interrupted.
    """
    log_to_terminal(log_level)
    try:
        configurations = read_all(configuration_files(configs), os.environ, [*given_arguments(), *_flags(flags)])
        _need_adapters(configurations)
        tell_of_nothing_to_read(configurations)
        sys.exit(_dry(configurations) if dry_run else _all(configurations))
    except ConfigError as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)


def _flags(flags: dict[str, bool | int | None]) -> list[Given]:
    """The options that stand for settings of ``[run]``."""
    return [
        Given(Slot("run"), name, value, Surface.CLI, "--" + name.replace("_", "-"))
        for name, value in flags.items()
        if value is not None
    ]


def _all(configurations: Sequence[Configuration]) -> int:
    """Run them one after the other; the exit status of all."""
    stop = threading.Event()
    failed = False
    with (
        Services().closing() as services,
        Sinks().closing() as sinks,
        RunView(configurations) as view,
        stopped_by_signals(stop),
    ):
        for configuration in configurations:
            if stop.is_set():
                break
            try:
                service = services.of(configuration.attribution)
            except (AttributionFailedError, BlueprintError) as error:
                view.broke(configuration, str(error))
                failed = True
                continue
            orchestrator = Orchestrator(configuration, service, view, stop, sinks=sinks.of(configuration))
            orchestrator.run()
            _tell(configuration, orchestrator.discovery_errors)
            view.finished(orchestrator)
            failed = failed or orchestrator.failed(strict=configuration.run.strict)
    view.conclude()
    if stop.is_set():
        return _INTERRUPTED
    return _FAILED if failed else 0


def _tell(configuration: Configuration, errors: Sequence[str]) -> None:
    """What adapters said that could not say which jobs there are."""
    for error in errors:
        click.echo(shown(f"{configuration.address}: {error}"), err=True)


def _need_adapters(configurations: Sequence[Configuration]) -> None:
    """A run without an adapter would find nothing and call it a success."""
    faults = [
        f"{found.address}: no eca is configured; accepted: [eca.COMPONENT], see: attribution connectors"
        for found in configurations
        if not found.of("eca")
    ]
    if faults:
        raise ConfigError(faults)


def tell_of_nothing_to_read(configurations: Sequence[Configuration]) -> None:
    """Verdicts of the scheduler's facts alone are seldom what was meant: a folder of cases is not read by its eca."""
    for found in configurations:
        if not found.of("log") and not found.of("metric"):
            click.echo(
                f"{found.address}: no log and no metric is configured, so no evidence is read; expected at least "
                "[log.file], see: attribution connectors log",
                err=True,
            )


def _dry(configurations: Sequence[Configuration]) -> int:
    """Say what would be done; opens, submits and writes nothing."""
    failed = False
    for configuration in configurations:
        found = discover(configuration)
        _tell(configuration, found.errors)
        sources = sources_of(configuration)
        click.echo(f"{configuration.address}: would write to {_names(configuration, 'output')}")
        for context in found.contexts:
            nodes = len(context.info.nodes)
            click.echo(f"  {shown(context.key)}  {shown(context.info.state) or 'state unknown'}  {nodes} nodes")
            for instance, place in planned(sources, context):
                click.echo(f"    {instance}: {shown(place)}")
        failed = failed or bool(found.errors)
    return _FAILED if failed else 0


def _names(configuration: Configuration, framework: str) -> str:
    return ", ".join(group.slot.section for group in configuration.of(framework))


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the run in order; a second one ends it at once."""

    def handle(number: int, _: object) -> None:
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()
        click.echo("stopping: sessions are being deleted (again: stop at once)", err=True)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
