"""The PATHs of ``attribution explain`` as evidence: every case folder by itself, all loose files together."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.case_files import JOB_FILE, LABEL_FILE, Evidence, read_case_folder, read_job_file
from attribution_blueprint.errors import BlueprintError, EvidenceError
from attribution_blueprint.loose_files import read_loose_files
from attribution_lib.errors import AttributionError, JobError
from attribution_lib.job.builder import JobInfoBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Source

__all__ = ["LooseOptions", "evidence_of", "is_job_id"]

_NOBODYS_JOB = "local"


@dataclass(frozen=True, slots=True)
class LooseOptions:
    """What the command line says about the loose files and their job; only what was given."""

    job_file: str | None
    source: Source | None
    fields: Mapping[str, str]

    @property
    def given(self) -> list[str]:
        """The options as typed."""
        others = {"--job": self.job_file, "--source": self.source}
        return [name for name, value in others.items() if value is not None] + [_option(name) for name in self.fields]


def evidence_of(paths: Sequence[str], options: LooseOptions) -> Iterator[tuple[str, Evidence | Exception]]:
    """One item per case folder and one for all loose files, in the order given; an error stands for its PATH alone."""
    # os.path.isdir, unlike Path.is_dir, takes a name that is too long or not allowed to be looked up for no folder
    folders = {path for path in paths if os.path.isdir(path)}  # noqa: PTH112
    loose = _Loose.of([path for path in paths if path not in folders], options)
    if not loose.case and options.given:
        problem = "only for loose files; a case folder has its own job.toml, with keys such as state and timezone"
        yield "", EvidenceError(f"{', '.join(options.given)}: {problem}")
    done = False
    for path in paths:
        try:
            if path in folders:
                yield path, read_case_folder(Path(path))
            elif not done:
                done = True
                yield loose.case, loose.evidence()
        except (BlueprintError, AttributionError) as error:
            yield path, error


@dataclass(frozen=True, slots=True)
class _Loose:
    """The loose files, without those that are about the case: its job file, and the label, which is never opened."""

    logs: Sequence[str]
    job_files: Sequence[str]
    labels: Sequence[str]
    options: LooseOptions

    @classmethod
    def of(cls, paths: Sequence[str], options: LooseOptions) -> _Loose:
        job_files = [path for path in paths if os.path.basename(path) == JOB_FILE]  # noqa: PTH119 -- of any text
        labels = [path for path in paths if os.path.basename(path) == LABEL_FILE]  # noqa: PTH119
        logs = [path for path in paths if path not in job_files and path not in labels]
        return cls(logs, job_files, labels, options)

    @property
    def case(self) -> str:
        """The first log; empty when there are no loose files."""
        return next(iter([*self.logs, *self.job_files, *self.labels]), "")

    def evidence(self) -> Evidence:
        """What the logs hold, and how the other files were taken."""
        given = self.options.job_file
        others = [path for path in self.job_files if given is None or not _same(path, given)]
        if others and (given is not None or len(others) > 1 or self.options.fields):
            said = [*([f"--job {given}"] if given else []), *map(_option, self.options.fields)]
            beside = f", beside {', '.join(said)}" if said else ""
            names = ", ".join(others)
            msg = f"{names}: among the loose files{beside}; loose files are one job: give one job.toml as --job"
            raise EvidenceError(msg)
        options = replace(self.options, job_file=others[0]) if others else self.options
        evidence = read_loose_files(self.logs, _job(options), source=options.source, stdin=_stdin)
        told = [f"{path}: taken as --job, not as a log" for path in others]
        told += [f"{path}: not read (the label of a case)" for path in self.labels]
        return replace(evidence, complaints=[*told, *evidence.complaints])


def _same(path: str, other: str) -> bool:
    return path == other or os.path.realpath(path) == os.path.realpath(other)


def _job(options: LooseOptions) -> JobInfo:
    """The job of the loose files: a job file, or what the options say; without either any node may be bad."""
    if options.job_file is not None:
        timezone = options.fields.get("timezone")
        also = [_option(field) for field in options.fields if field != "timezone"]
        if also:
            both = f"given together with {', '.join(also)}; expected the job file or these, not both"
            msg = f"--job {options.job_file}: {both}"
            raise EvidenceError(msg)
        return _of_file(options.job_file, timezone)
    if "nodes" in options.fields and not options.fields["nodes"].strip(" ,"):
        msg = "--nodes: names no node; expected node[0001-0128] or a,b,c"
        raise EvidenceError(msg)
    fields = {"job_id": _NOBODYS_JOB, **options.fields}
    try:
        return JobInfoBuilder.from_mapping(fields, naive_in_timezone=True, nodes_suffice=True).build()
    except JobError as error:
        faults = (replace(fault, address=_option(fault.address.removeprefix("job."))) for fault in error.faults)
        raise EvidenceError("\n".join(map(str, faults))) from error


def _of_file(path: str, timezone: str | None) -> JobInfo:
    try:
        return read_job_file(Path(path), timezone=timezone)
    except EvidenceError as error:
        hint = "; with PATHs, --job is a job.toml: for a job's id say --job-id" if is_job_id(path) else ""
        msg = f"--job {error}{hint}"
        raise EvidenceError(msg) from error


def is_job_id(text: str) -> bool:
    """Whether ``--job`` names a job of a scheduler rather than a job file."""
    return not text.endswith(".toml") and os.sep not in text and not os.path.exists(text)  # noqa: PTH110 -- one look


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def _stdin() -> BinaryIO:
    if sys.stdin is None:  # closed by whoever started us
        return io.BytesIO()
    if sys.stdin.isatty():
        click.echo("reading standard input; Ctrl-D ends it", err=True)
    return sys.stdin.buffer
