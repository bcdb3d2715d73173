"""Evidence on disk: a case folder, its job file, and what is made of each file, which ``loose_files`` shares.

Reading only: which file is which source, what the job file says, what could not be read. The engine does the rest.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.evidence_files import read_file
from attribution_blueprint.job_file_lines import located_faults
from attribution_blueprint.layouts import layout_note
from attribution_lib.errors import JobError, ObservationError
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, ObservationFormat, Source
from attribution_lib.observation_parse import parse_matrix
from attribution_lib.parsing.packed import PACKED_SUFFIXES
from attribution_lib.redaction import redact
from attribution_service.result import ConnectorReport, ConnectorStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_blueprint.evidence_files import Content
    from attribution_lib.job.model import JobInfo
    from attribution_lib.names import NodeNames
    from attribution_lib.observation import MetricSeries

__all__ = [
    "JOB_FILE",
    "LABEL_FILE",
    "METRICS_FILE",
    "TEXT_FILES",
    "Evidence",
    "FileReader",
    "read_case_folder",
    "read_job_file",
    "source_of",
]

JOB_FILE = "job.toml"
LABEL_FILE = "expected.toml"
"""The right answer of a labelled case: never opened."""
TEXT_FILES = {
    "applog.log": Source.APPLOG,
    "syslog.log": Source.SYSLOG,
    "scheduler.log": Source.SCHEDULER,
}
METRICS_FILE = "node_metrics.json"
_SOURCE_NAMES = {
    Source.SYSLOG: ("syslog", "messages", "kern", "dmesg", "journal"),
    Source.SCHEDULER: ("slurmctld", "slurmd", "scheduler", "events"),
}


_MATRIX = "a Prometheus matrix, as /api/v1/query_range answers"
_LONG_KEY = re.compile(r"(?<![\w.-])(?:[\w-]++\.){100}")
"""Parsing a dotted key takes the square of its length; no key of a job has more than three parts."""
_FAULTS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Evidence:
    """One job with what was read of its evidence, file by file."""

    job: JobInfo
    observations: Sequence[Observation]
    reports: Sequence[ConnectorReport]
    complaints: Sequence[str] = ()
    """A line for every file that was not read, or not read to its end: its path and why."""
    aside: frozenset[str] = frozenset()
    """Instances of the reports on what a case folder holds beside its files: no part of the evidence, and named."""

    @property
    def usable(self) -> bool:
        """Whether all that should be read was; a folder of which nothing was read is not."""
        failed = any(report.status is ConnectorStatus.ERROR for report in self.reports)
        return not failed and (not self.aside or any(report.observation_count for report in self.reports))


def read_case_folder(folder: Path, *, names: NodeNames | None = None) -> Evidence:
    """Read a case folder (see ``samples/README.md``). A file that cannot be read is reported, not fatal."""
    try:
        present = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        msg = f"{folder}: cannot be listed ({error.strerror}); expected a readable case folder"
        raise EvidenceError(msg) from error
    if JOB_FILE not in present:
        msg = (
            f"{folder}: no {JOB_FILE}; expected a case folder with a {JOB_FILE} and at least one of {_known_files()}"
            f"; to take its files as loose logs of one job, give {folder / '*'}, with --job JOB.TOML, or --job-id, "
            "--nodes and --state, for what is known of the job"
        )
        raise EvidenceError(msg)
    reader = FileReader(read_job_file(folder / JOB_FILE, names=names))
    for name in present:
        source = _source_in_case(name, present)
        path = str(folder / name)
        if source is not None:
            reader.take(read_file(path), source, stream=name, address=path)
        elif name not in (JOB_FILE, LABEL_FILE):
            twin = _without_packing(name)
            reader.leave(name, f"{twin} stands beside it and is read" if twin in TEXT_FILES else _NO_CASE_FILE, path)
    reader.tell_of_left(folder)
    return reader.evidence()


def _source_in_case(name: str, present: Sequence[str]) -> Source | None:
    """What a file of a case folder holds; a compressed one counts where the plain one is missing."""
    plain = _without_packing(name)
    if plain != name and plain in present:
        return None
    return Source.NODE_METRICS if plain == METRICS_FILE else TEXT_FILES.get(plain)


def read_job_file(path: Path, *, names: NodeNames | None = None, timezone: str | None = None) -> JobInfo:
    """A ``job.toml``: the keys of a job, strictly; naive date-times are read in its ``timezone``.

    A ``timezone`` that is given stands in for the key that the file does not have.
    """
    content = read_file(str(path))
    if content.problem:
        msg = f"{path}: {content.problem}"
        raise EvidenceError(msg)
    try:
        text = content.data.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            msg = f"{path}: holds a key of a hundred parts; expected the keys of a job"
            raise EvidenceError(msg)
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: is not TOML: {error}"
        raise EvidenceError(msg) from error
    except RecursionError as error:
        msg = f"{path}: is nested too deeply; expected the keys of a job"
        raise EvidenceError(msg) from error
    if timezone is not None and fields.setdefault("timezone", timezone) != timezone:
        msg = f"{path}: timezone = {fields['timezone']!r} there, and {timezone!r} given; expected one of them"
        raise EvidenceError(msg)
    try:
        return JobInfoBuilder.from_mapping(fields, names=names, naive_in_timezone=True, nodes_suffice=True).build()
    except JobError as error:
        raise EvidenceError(located_faults(error.faults, path, text)) from error


def source_of(path: str, data: bytes) -> Source:
    """The source that a loose file's name suggests; a JSON matrix is metrics, anything else an application log."""
    name = _without_packing(Path(path).name.lower())
    for source, parts in _SOURCE_NAMES.items():
        if any(part in name for part in parts):
            return source
    return Source.NODE_METRICS if name.endswith(".json") and _is_matrix(data) else Source.APPLOG


def _is_matrix(data: bytes) -> bool:
    head = data[:4096].lstrip()
    return head[:1] in (b"[", b"{") and b'"metric"' in head and b'"values"' in data


def _without_packing(name: str) -> str:
    suffix = next((suffix for suffix in PACKED_SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix)


def _known_files() -> str:
    return ", ".join([*TEXT_FILES, METRICS_FILE])


_NO_CASE_FILE = f"not one of the files of a case folder: {_known_files()}; others count as loose files, with --job"


@dataclass(slots=True)
class FileReader:
    """Makes one observation and one report of every file."""

    job: JobInfo
    observations: list[Observation] = field(default_factory=list)
    reports: list[ConnectorReport] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)

    def take(  # noqa: PLR0913 -- what was read, and what is known of the file beside it
        self, content: Content, source: Source, *, stream: str, address: str, node: str | None = None, note: str = ""
    ) -> None:
        """What was read of one file; ``address`` is how a message names it, ``note`` what its report says beside."""
        stream = _as_unicode(stream)
        problem, lines = content.problem, 0
        if content.data:
            try:
                observation = _observation(content.data, source, stream, node)
            except ValueError as error:
                problem = str(error)
            else:
                is_matrix = source is Source.NODE_METRICS
                lines = len(observation.series) if is_matrix else _line_count(content.data)
                self.observations += [observation] if lines else []
        said = problem or layout_note(content.data)
        if said:
            self.complaints.append(f"{address}: {said}")
        status = ConnectorStatus.ERROR if problem else ConnectorStatus.OK if lines else ConnectorStatus.EMPTY
        report = ConnectorReport(
            connector="file",
            instance=stream,
            source=source.value,
            status=status,
            observation_count=1 if lines else 0,
            lines=lines,
            reason=said or note or None,
        )
        self.reports.append(report)

    def leave(self, name: str, reason: str, address: str) -> None:
        """What a case folder holds beside its files is named and not read; hidden files are nobody's evidence."""
        self.complaints.append(f"{address}: not read ({reason})")
        if name.startswith("."):
            return
        self.aside.append(_as_unicode(name))
        report = ConnectorReport(
            connector="file",
            instance=_as_unicode(name),
            source=source_of(name, b"").value,
            status=ConnectorStatus.EMPTY,
            observation_count=0,
            lines=0,
            reason=reason,
        )
        self.reports.append(report)

    def tell_of_left(self, folder: Path) -> None:
        """How to give what was left, once."""
        if self.aside:
            files = (
                f"$(find {folder} -type f)" if any((folder / name).is_dir() for name in self.aside) else folder / "*"
            )
            self.complaints.append(
                f"{folder}: to read its other files too, give all as the loose files of one job: "
                f"attribution explain --job {folder / JOB_FILE} {files}"
            )

    def evidence(self) -> Evidence:
        """All of it."""
        return Evidence(self.job, self.observations, self.reports, self.complaints, frozenset(self.aside))


def _observation(data: bytes, source: Source, stream: str, node: str | None) -> Observation:
    """``ValueError`` when metrics are none."""
    if source is Source.NODE_METRICS:
        return Observation(source, ObservationFormat.PROMETHEUS_MATRIX, stream=stream, series=_series(data))
    text, redacted = redact(data)
    return Observation(source, stream=stream, node=node, text=text, redacted=redacted)


def _series(data: bytes) -> Sequence[MetricSeries]:
    try:
        return parse_matrix(json.loads(data))
    except RecursionError as error:
        msg = f"is nested too deeply; expected {_MATRIX}"
        raise ValueError(msg) from error
    except ObservationError as error:
        faults = "; ".join(str(fault) for fault in error.faults[:_FAULTS_SHOWN])
        more = len(error.faults) - _FAULTS_SHOWN
        raise ValueError(f"{faults}; and {more} faults more" if more > 0 else faults) from error
    except ValueError as error:
        msg = f"is not JSON ({error}); expected {_MATRIX}"
        raise ValueError(msg) from error


def _as_unicode(path: str) -> str:
    r"""A path whose bytes are no UTF-8 with them spelt out, ``caf\xe9.log``: a verdict is Unicode text."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
