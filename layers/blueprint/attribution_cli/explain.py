"""``attribution explain PATH…``: from evidence on disk to a verdict, on the terminal or as JSON lines."""

from __future__ import annotations

import sys
import traceback
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attribution_blueprint.errors import BlueprintError, ConfigError
from attribution_blueprint.local import LocalAttribution
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.explain_evidence import LooseOptions, evidence_of, is_job_id
from attribution_cli.terminal import complain, echo_json, log_to_terminal
from attribution_lib.errors import AttributionError
from attribution_lib.observation import Source
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from attribution_blueprint.case_files import Evidence
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

__all__ = ["explain"]

BAD_INPUT = 2
_LARGE = 16 << 20
"""Bytes of evidence that take a second or more."""


@click.command(cls=ConnectorCommand)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--json", "as_json", is_flag=True, help="Print one enriched verdict a line, in the order of the PATHs.")
@click.option(
    "--table", "as_table", is_flag=True, help="Print one row per PATH: how it ended, whose problem, the root."
)
@click.option("--job", help="A job of the scheduler by its id; or, with PATHs, job.toml of the loose files.")
@click.option("--configs", multiple=True, type=click.Path(path_type=Path), help="With --job ID: the site's TOML file.")
@click.option("--job-id", help="Job id of the loose files.")
@click.option("--nodes", help="Nodes of the loose files: node[0001-0128] or a,b,c.")
@click.option("--start", help="When the job started: 2026-06-01T03:14:02Z, or without offset in --timezone.")
@click.option("--end", help="When the job ended, likewise.")
@click.option("--timezone", help="Where times without an offset are read, in logs too: an IANA name.  [default: UTC]")
@click.option("--state", help="The scheduler's state word.")
@click.option("--exit-code", help="Exit code as the scheduler prints it: code:signal.")
@click.option("--source", type=click.Choice([source.value for source in Source]), help="Source of all loose files.")
@click.option(
    "--rules",
    "rules_dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Another rules folder; of several, the rules of all.",
)
def explain(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    as_table: bool,
    rules_dirs: tuple[Path, ...],
    source: str | None,
    **fields: Any,
) -> None:
    """Explain why a job failed.

    With --job ID alone: ask the scheduler (Slurm, or the eca of --configs), read what it names, explain. Otherwise PATH
    is a case folder (job.toml with applog.log, syslog.log, scheduler.log, node_metrics.json) or loose log files, which
    are one job together; - reads standard input. Exit status 0 when verdicts were produced, 2 on bad input, 1 when the
    scheduler or the service could not say.
    """
    job, configs = fields.pop("job"), fields.pop("configs")
    if as_json and as_table:
        complain("--json, --table: expected one of them")
        sys.exit(BAD_INPUT)
    log_to_terminal(form="%(message)s")
    show = _show_json if as_json else _show
    if not paths:
        sys.exit(_of_scheduler(job, configs, show))
    local = click.get_current_context().find_object(LocalAttribution) or LocalAttribution()
    try:
        engine = local.load(rules_dirs)
    except (AttributionError, BlueprintError) as error:
        complain(str(error))
        sys.exit(BAD_INPUT)
    given = {key: value for key, value in fields.items() if value is not None}
    options = LooseOptions(job, Source(source) if source else None, given)
    rows: list[tuple[str, EnrichedVerdict]] = []
    keep = (lambda verdict, case: rows.append((case, verdict))) if as_table else show
    try:
        clean = _explain_all(paths, options, partial(_attributed, local, engine), keep)
    finally:  # Ctrl-C does not cost the rows that are done
        if rows:
            _show_table(rows)
    sys.exit(0 if clean else BAD_INPUT)


def _explain_all(
    paths: tuple[str, ...],
    options: LooseOptions,
    attributed: Callable[[str, Evidence], EnrichedVerdict | None],
    show: Callable[[EnrichedVerdict, str], None],
) -> bool:
    """Show the verdict of every PATH that has one; False when anything could not be read."""
    clean = True
    for case, evidence in evidence_of(paths, options):
        if isinstance(evidence, Exception):
            complain(str(evidence))
            clean = False
            continue
        for complaint in evidence.complaints:
            complain(complaint)
        with _sign_of_life(case, evidence):
            verdict = attributed(case, evidence)
        if verdict is not None:
            show(verdict, case)
        clean = clean and verdict is not None and evidence.usable
    return clean


def _sign_of_life(case: str, evidence: Evidence) -> AbstractContextManager[object]:
    """Of evidence that takes more than a moment, on a terminal, that it is being read."""
    size = sum(len(observation.text) for observation in evidence.observations)
    if size < _LARGE:
        return nullcontext()
    from attribution_cli.progress_view import at_work  # noqa: PLC0415 -- as ``_show``

    return at_work(f"{shown(case)}: reading {size >> 20} MiB")


def _of_scheduler(job: str | None, configs: tuple[Path, ...], show: Callable[[EnrichedVerdict, str], None]) -> int:
    """The exit status of explaining one job of a scheduler."""
    from attribution_cli.explain_job import explain_job  # noqa: PLC0415 -- loads the whole orchestrator

    if job is None or not is_job_id(job):
        complain("nothing to explain; expected PATHs, or --job with a job id")
        return BAD_INPUT
    try:
        return explain_job(job, configs, given_arguments(), show)
    except ConfigError as error:
        complain(str(error))
        return BAD_INPUT


def _attributed(local: LocalAttribution, engine: RuleEngine, case: str, evidence: Evidence) -> EnrichedVerdict | None:
    """The verdict; None, and a complaint, when there is none."""
    try:
        return local.attribute(evidence, engine)
    except AttributionError as error:
        complain(f"{case}: no verdict: {error}")
    except Exception as error:  # noqa: BLE001 -- a defect met in one case must not cost the others their verdicts
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        complain(f"{case}: no verdict: a defect of this program, please report it: {error!r} at {where}")
    return None


def _show_json(verdict: EnrichedVerdict, case: str) -> None:
    echo_json({"case": case, **verdict.model_dump(mode="json", by_alias=True)})


def _show(verdict: EnrichedVerdict, case: str) -> None:
    from attribution_cli.verdict_view import print_verdict  # noqa: PLC0415 -- JSON and help need no terminal library

    print_verdict(verdict, case)


def _show_table(rows: list[tuple[str, EnrichedVerdict]]) -> None:
    from attribution_cli.verdict_view import print_table  # noqa: PLC0415 -- likewise

    print_table(rows)
