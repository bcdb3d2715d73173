"""``sacct --parsable2`` and ``scontrol --oneliner show jobs``, read without asking anybody."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob, SlurmStep, known_text
from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["COLUMNS", "columns_of", "parse_controller_jobs", "parse_sacct"]

COLUMNS = (
    "JobID",
    "JobIDRaw",
    "JobName",
    "Cluster",
    "User",
    "Partition",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "NodeList",
    "FailedNode",
    "Submit",
    "Start",
    "End",
    "Reason",
    "Restarts",
    "SLUID",
    "OriginalSLUID",
    "StdOut",
    "StdErr",
    "WorkDir",
    "SubmitLine",
)
"""What is asked for, where this ``sacct`` knows it. The last ones are free text, which may hold the delimiter."""
_FREE = frozenset({"WorkDir", "SubmitLine"})
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][\w:/.-]*)=")
_ID = re.compile(r"\d+(?:_\d+|\+\d+)?")


def columns_of(helpformat: bytes) -> list[str]:
    """The columns to ask for, of those that ``sacct --helpformat`` lists (versions differ)."""
    listed = {name.casefold() for name in helpformat.decode("utf-8", "replace").split()}
    return [name for name in COLUMNS if name.casefold() in listed]


def parse_sacct(text: bytes, columns: Sequence[str]) -> tuple[list[SlurmJob], list[str]]:
    """The jobs of ``sacct --parsable2 --noheader --duplicates`` with these columns, and the lines that are no rows.

    Steps follow their job. Tasks of an array that are still pending together are left out.
    """
    jobs: list[SlurmJob] = []
    steps: list[list[SlurmStep]] = []
    unread: list[str] = []
    for line in _records(text.decode("utf-8", "replace"), columns):
        values = line.split("|", len(columns) - 1)
        row = dict(zip(columns, values, strict=False))
        identifier = row.get("JobID", "")
        if len(values) != len(columns) or not identifier[:1].isdecimal():
            unread.append(line)
            continue
        base, dot, step = identifier.partition(".")
        if dot:
            if jobs and jobs[-1].job_id == base:
                steps[-1].append(_step(step, row))
            continue
        if _ID.fullmatch(base):
            jobs.append(_job(base, row))
            steps.append([])
    return [replace(job, steps=tuple(found)) for job, found in zip(jobs, steps, strict=True)], unread


def _records(text: str, columns: Sequence[str]) -> Iterable[str]:
    """Lines put together again: a script given by ``--wrap`` brings its newlines along."""
    held = ""
    for line in text.split("\n"):
        start = re.match(r"\d+(?:[_+.]\S*?)?\|", line)
        if start and line.count("|") >= len(columns) - 1:
            if held:
                yield held
            held = line
        elif held and columns[-1:] and columns[-1] in _FREE:
            held += "\n" + line
        elif line.strip():
            yield line
    if held:
        yield held.rstrip("\n")


def _job(identifier: str, row: Mapping[str, str]) -> SlurmJob:
    restarts = row.get("Restarts", "")
    return SlurmJob(
        job_id=identifier,
        raw_id=row.get("JobIDRaw") or identifier,
        state=known_text(row.get("State", "")),
        sluid=known_text(row.get("OriginalSLUID", "") or row.get("SLUID", "")),
        cluster=known_text(row.get("Cluster", "")),
        user=known_text(row.get("User", "")),
        name=row.get("JobName", ""),
        partition=known_text(row.get("Partition", "")),
        exit_code=row.get("ExitCode", ""),
        derived_exit_code=row.get("DerivedExitCode", ""),
        reason=known_text(row.get("Reason", "")),
        nodes=known_text(row.get("NodeList", "")),
        failed_node=known_text(row.get("FailedNode", "")),
        submit=_seconds(row.get("Submit", "")),
        start=_seconds(row.get("Start", "")),
        end=_seconds(row.get("End", "")),
        workdir=row.get("WorkDir", ""),
        submit_line=row.get("SubmitLine", ""),
        stdout=known_text(row["StdOut"]) if "StdOut" in row else None,
        stderr=known_text(row["StdErr"]) if "StdErr" in row else None,
        restarts=int(restarts) if restarts.isdecimal() else None,
    )


def _step(name: str, row: Mapping[str, str]) -> SlurmStep:
    return SlurmStep(name, known_text(row.get("State", "")), row.get("ExitCode", ""), row.get("SubmitLine", ""))


def _seconds(value: str) -> int | None:
    """Seconds since the epoch, as ``SLURM_TIME_FORMAT=%s`` or as the standard form with ``TZ=UTC`` prints them."""
    if value.isdecimal():
        return int(value) or None
    try:
        return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def parse_controller_jobs(text: bytes) -> dict[str, Mapping[str, str]]:
    """``scontrol --oneliner show jobs``: the pairs of each job by its number. Values may hold blanks."""
    jobs: dict[str, Mapping[str, str]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        marks = list(_PAIR.finditer(line))
        ends = [mark.start() for mark in marks[1:]] + [len(line)]
        pairs = {mark[1]: line[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}
        if "JobId" in pairs:
            jobs[pairs["JobId"].partition(" ")[0]] = pairs
        elif line.strip() and "No jobs in the system" not in line:
            msg = f"scontrol show jobs: {line[:80]!r} is no job"
            raise CollectError(msg)
    return jobs
