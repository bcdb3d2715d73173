"""The PATHs of ``attribution explain`` as evidence: every case folder by itself, all loose files together."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.case_files import Evidence, read_case_folder, read_job_file, read_loose_files
from attribution_blueprint.errors import BlueprintError, EvidenceError
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
    loose = [path for path in paths if not os.path.isdir(path)]  # noqa: PTH112
    if not loose and options.given:
        yield "", EvidenceError(f"{', '.join(options.given)}: only for loose files; a case folder has its own job.toml")
    first = next((index for index, path in enumerate(paths) if path in loose), None)
    for index, path in enumerate(paths):
        try:
            if path not in loose:
                yield path, read_case_folder(Path(path))
            elif index == first:
                yield path, read_loose_files(loose, _job(options), source=options.source, stdin=_stdin)
        except (BlueprintError, AttributionError) as error:
            yield path, error


def _job(options: LooseOptions) -> JobInfo:
    """The job of the loose files: a job file, or what the options say; without either any node may be bad."""
    if options.job_file is not None:
        if options.fields:
            also = ", ".join(map(_option, options.fields))
            msg = f"--job {options.job_file}: given together with {also}; expected the job file or these, not both"
            raise EvidenceError(msg)
        return _of_file(options.job_file)
    if "nodes" in options.fields and not options.fields["nodes"].strip(" ,"):
        msg = "--nodes: names no node; expected node[0001-0128] or a,b,c"
        raise EvidenceError(msg)
    fields = {"job_id": _NOBODYS_JOB, **options.fields}
    try:
        return JobInfoBuilder.from_mapping(fields, naive_in_timezone=True, nodes_suffice=True).build()
    except JobError as error:
        faults = (replace(fault, address=_option(fault.address.removeprefix("job."))) for fault in error.faults)
        raise EvidenceError("\n".join(map(str, faults))) from error


def _of_file(path: str) -> JobInfo:
    try:
        return read_job_file(Path(path))
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
