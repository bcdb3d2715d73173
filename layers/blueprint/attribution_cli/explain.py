"""``attribution explain PATH…``: from evidence on disk to a verdict, on the terminal or as JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attribution_blueprint.case_files import Evidence, job_from, read_case_folder, read_job_file, read_loose_files
from attribution_blueprint.errors import BlueprintError, ConfigError
from attribution_blueprint.local import attribute_evidence, load_engine
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.explain_job import explain_job, is_job_id
from attribution_cli.verdict_view import print_table, print_verdict
from attribution_lib.errors import AttributionError
from attribution_lib.observation import Source
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

__all__ = ["explain"]

BAD_INPUT = 2


@click.command(cls=ConnectorCommand)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--json", "as_json", is_flag=True, help="Print one enriched verdict per PATH and line, in order.")
@click.option(
    "--table", "as_table", is_flag=True, help="Print one row per PATH: how it ended, whose problem, the root."
)
@click.option("--job", help="A job of the scheduler by its id; or, with PATHs, job.toml of the loose files.")
@click.option("--configs", multiple=True, type=click.Path(path_type=Path), help="With --job ID: the site's TOML file.")
@click.option("--job-id", help="Job id of the loose files.")
@click.option("--nodes", help="Nodes of the loose files: node[0001-0128] or a,b,c.")
@click.option("--start", help="When the job started (RFC 3339).")
@click.option("--end", help="When the job ended (RFC 3339).")
@click.option("--state", help="The scheduler's state word.")
@click.option("--exit-code", help="Exit code as the scheduler prints it: code:signal.")
@click.option("--source", type=click.Choice([source.value for source in Source]), help="Source of all loose files.")
@click.option("--rules", "rules_dir", type=click.Path(path_type=Path), help="Another rules folder.")
def explain(
    paths: tuple[str, ...],
    *,
    as_json: bool,
    as_table: bool,
    rules_dir: Path | None,
    source: str | None,
    **fields: Any,
) -> None:
    """Explain why a job failed.

    With --job ID alone: ask the scheduler (Slurm, or the eca of --configs), read what it names, explain. Otherwise PATH
    is a case folder (job.toml with applog.log, syslog.log, scheduler.log, node_metrics.json) or loose log files, which
    are one job together; - reads standard input. Exit status 0 when verdicts were produced, 2 on bad input.
    """
    job, configs = fields.pop("job"), fields.pop("configs")
    if not paths:
        sys.exit(_of_scheduler(job, configs, as_json=as_json))
    try:
        engine = load_engine(rules_dir)
    except AttributionError as error:
        _complain(error)
        sys.exit(BAD_INPUT)
    show = _show_json if as_json else print_verdict
    rows: list[tuple[str, EnrichedVerdict]] = []
    failed = False
    for case, evidence in _evidence(paths, {**fields, "job_file": None if job is None else Path(job)}, source):
        if isinstance(evidence, Exception):
            _complain(evidence)
            failed = True
            continue
        verdict = _attributed(evidence, engine)
        failed = failed or any(report.status == "error" for report in evidence.reports)
        if as_table:
            rows.append((case, verdict))
        else:
            show(verdict, case)
    if rows:
        print_table(rows)
    sys.exit(BAD_INPUT if failed else 0)


def _of_scheduler(job: str | None, configs: tuple[Path, ...], *, as_json: bool) -> int:
    """The exit status of explaining one job of a scheduler."""
    if job is None or not is_job_id(job):
        click.echo("nothing to explain; expected PATHs, or --job with a job id", err=True)
        return BAD_INPUT
    try:
        return explain_job(job, configs, given_arguments(), _show_json if as_json else print_verdict)
    except ConfigError as error:
        _complain(error)
        return BAD_INPUT


def _evidence(
    paths: tuple[str, ...], job: dict[str, Any], source: str | None
) -> Iterator[tuple[str, Evidence | Exception]]:
    """One item per case folder and one for all loose files together, in the order given."""
    folders = [path for path in paths if path != "-" and Path(path).is_dir()]
    loose = [path for path in paths if path not in folders]
    for path in paths:
        try:
            if path in folders:
                yield path, read_case_folder(Path(path))
            elif path == loose[0]:
                wanted = Source(source) if source else None
                yield path, read_loose_files(loose, _job(job), source=wanted, stdin=lambda: sys.stdin.buffer)
        except (BlueprintError, AttributionError) as error:
            yield path, error


def _job(options: dict[str, Any]) -> JobInfo:
    """The job of the loose files: a job file, or what the options say; without either any node may be bad."""
    file = options.pop("job_file", None)
    fields = {key: value for key, value in options.items() if value is not None}
    if file is not None:
        if fields:
            msg = f"--job {file}: give the job file or {', '.join(sorted(fields))}, not both"
            raise BlueprintError(msg)
        return read_job_file(file)
    fields.setdefault("job_id", "local")
    return job_from(fields, address="command line")


def _attributed(evidence: Evidence, engine: RuleEngine) -> EnrichedVerdict:
    """The verdict; what was not read is told on standard error."""
    for path in evidence.ignored:
        click.echo(f"{shown(path)}: not read (not one of the files of a case folder)", err=True)
    for report in evidence.reports:
        if report.reason is not None:
            click.echo(shown(report.reason), err=True)
    return attribute_evidence(evidence, engine)


def _show_json(verdict: EnrichedVerdict, case: str) -> None:
    row = {"case": case, **verdict.model_dump(mode="json", by_alias=True)}
    click.echo(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))


def _complain(error: Exception) -> None:
    click.echo("\n".join(shown(line) for line in str(error).splitlines()), err=True)
