"""``attribution explain --job 4711``: the whole flow for one job of a scheduler, to the terminal."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import AttributionFailedError, BlueprintError, ConfigError
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.runs import Services
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.surfaces import Given, Slot, Surface
from attribution_cli.terminal import complain
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from attribution_blueprint.one_context import ContextResult
    from attribution_blueprint.settings import Configuration
    from attribution_service.result import EnrichedVerdict

__all__ = ["explain_job"]

_FAILED, _BAD_INPUT = 1, 2


def explain_job(
    job_id: str,
    configs: Sequence[Path],
    arguments: Sequence[Given],
    show: Callable[[EnrichedVerdict, str], None],
) -> int:
    """Find the job, collect, attribute and show every attempt of it; the exit status.

    ``configs`` is one file or none. Without an eca there, ``slurm`` is asked; without a collector, the files that the
    scheduler names are read. Sinks of the configuration get nothing.
    """
    try:
        configuration = _configuration(job_id, configs, arguments)
    except ConfigError as error:
        complain(str(error))
        return _BAD_INPUT
    with Services().closing() as services:
        try:
            orchestrator = Orchestrator(configuration, services.of(configuration.attribution))
        except (AttributionFailedError, BlueprintError) as error:
            complain(str(error))
            return _FAILED
        orchestrator.run()
    for fault in orchestrator.discovery_errors:
        click.echo(shown(fault), err=True)
    results = orchestrator.last_run_results
    if not results and not orchestrator.discovery_errors:
        click.echo(f"{shown(job_id)}: the scheduler knows no such job", err=True)
    shown_ones = [_show(result, show) for result in results]
    sys.stdout.flush()
    return 0 if shown_ones and all(shown_ones) else _FAILED


def _show(result: ContextResult, show: Callable[[EnrichedVerdict, str], None]) -> bool:
    if result.verdict is None:
        click.echo(f"{shown(result.context.key)}: {result.status.value}: {shown(result.reason)}", err=True)
        return False
    for report in result.verdict.connector_reports:
        if report.reason is not None:
            click.echo(f"{report.instance}: {shown(report.reason)}", err=True)
    for note in result.context.notes:
        click.echo(shown(note), err=True)
    show(result.verdict, result.context.key)
    return True


def _configuration(job_id: str, configs: Sequence[Path], arguments: Sequence[Given]) -> Configuration:
    """The site's configuration with this job selected, and nothing written but to the terminal."""
    if len(configs) > 1:
        raise ConfigError([f"--configs: {len(configs)} files given; accepted with --job ID: one"])
    file = configs[0] if configs else None
    # A first reading says which eca there is; what it selects gives way to the id.
    probe = [*arguments, *_defaults(job_id, Slot("eca", "slurm", "slurm"))] if file is None else [*arguments]
    adapters = _slots(file, probe) or [Slot("eca", "slurm", "slurm")]
    if len(adapters) > 1:
        names = ", ".join(slot.section for slot in adapters)
        raise ConfigError([f"--job {job_id}: {len(adapters)} ecas are configured ({names}); accepted: one"])
    selected = [*arguments, *_defaults(job_id, adapters[0])]
    configuration = read_configuration(file, os.environ, selected)
    if not configuration.of("log") and not configuration.of("metric"):
        selected.append(_given(Slot("log", "file", "file"), "missing_ok", value=False))
        configuration = read_configuration(file, os.environ, selected)
    quiet = read_configuration(None, {}, [_given(Slot("output", "stdout", "stdout"), "format", value="none")])
    groups = [group for group in configuration.groups if group.slot.framework != "output"]
    return dataclasses.replace(configuration, groups=(*groups, *quiet.of("output")))


def _slots(file: Path | None, arguments: Sequence[Given]) -> list[Slot]:
    return [group.slot for group in read_configuration(file, os.environ, arguments).of("eca")]


def _defaults(job_id: str, slot: Slot) -> list[Given]:
    """What selects the job; a stretch of time that the site's configuration selects by gives way."""
    if slot.component == "static":
        return [_given(slot, "job_id", value=job_id)]
    return [_given(slot, "ids", value=job_id), _given(slot, "since", value="")]


def _given(slot: Slot, key: str, *, value: str | bool) -> Given:
    return Given(slot, key, value, Surface.CLI, f"--job ({slot.section} {key})")
