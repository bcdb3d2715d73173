"""Evidence on disk: a case folder, or loose log files that are one job together.

Reading only: which file is which source, what the job file says, what could not be read. The engine does the rest.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.evidence_files import read_file, read_stream
from attribution_lib.errors import JobError, ObservationError
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, ObservationFormat, Source
from attribution_lib.observation_parse import parse_matrix
from attribution_lib.parsing.packed import PACKED_SUFFIXES
from attribution_lib.redaction import redact
from attribution_service.result import ConnectorReport, ConnectorStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from attribution_blueprint.evidence_files import Content
    from attribution_lib.job.model import JobInfo
    from attribution_lib.names import NodeNames
    from attribution_lib.observation import MetricSeries

__all__ = [
    "JOB_FILE",
    "METRICS_FILE",
    "TEXT_FILES",
    "Evidence",
    "read_case_folder",
    "read_job_file",
    "read_loose_files",
    "source_of",
]

JOB_FILE = "job.toml"
_LABEL_FILE = "expected.toml"
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
            f"; to take its files as loose logs of one job, give {folder / '*'}"
        )
        raise EvidenceError(msg)
    reader = _Reader(read_job_file(folder / JOB_FILE, names=names))
    for name in present:
        source = _source_in_case(name, present)
        path = str(folder / name)
        if source is not None:
            reader.take(read_file(path), source, stream=name, address=path)
        elif name not in (JOB_FILE, _LABEL_FILE):
            reader.complaints.append(f"{path}: not read (not one of the files of a case folder: {_known_files()})")
    return reader.evidence()


def _source_in_case(name: str, present: Sequence[str]) -> Source | None:
    """What a file of a case folder holds; a compressed one counts where the plain one is missing."""
    plain = _without_packing(name)
    if plain != name and plain in present:
        return None
    return Source.NODE_METRICS if plain == METRICS_FILE else TEXT_FILES.get(plain)


def read_job_file(path: Path, *, names: NodeNames | None = None) -> JobInfo:
    """A ``job.toml``: the keys of a job, strictly; naive date-times are read in its ``timezone``."""
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
    return job_from(fields, address=str(path), names=names)


def job_from(fields: Mapping[str, Any], *, address: str, names: NodeNames | None = None) -> JobInfo:
    """Build a job from the fields of a file or of command-line options; faults name the ``address``."""
    try:
        return JobInfoBuilder.from_mapping(fields, names=names, naive_in_timezone=True, nodes_suffice=True).build()
    except JobError as error:
        msg = f"{address}: {error}"
        raise EvidenceError(msg) from error


def read_loose_files(
    paths: Sequence[str], job: JobInfo, *, source: Source | None, stdin: Callable[[], BinaryIO]
) -> Evidence:
    """Read files (``-`` is standard input) as the evidence of one job; a stream is the path as given.

    A file that is given twice is read once.
    """
    reader = _Reader(job)
    seen: set[object] = set()
    for given in paths:
        identity = _identity(given)
        if identity in seen:
            reader.complaints.append(f"{given}: given twice; read once")
            continue
        seen.add(identity)
        if given == "-":
            reader.take(read_stream(stdin()), source or Source.APPLOG, stream=given, address="standard input")
        else:
            content = read_file(given)
            reader.take(content, source or source_of(given, content.data), stream=given, address=given or "''")
    return reader.evidence()


def _identity(path: str) -> object:
    try:
        about = Path(path).stat()
    except OSError:
        return path
    return path if path == "-" else (about.st_dev, about.st_ino)


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


@dataclass(slots=True)
class _Reader:
    """Makes one observation and one report of every file."""

    job: JobInfo
    observations: list[Observation] = field(default_factory=list)
    reports: list[ConnectorReport] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def take(self, content: Content, source: Source, *, stream: str, address: str) -> None:
        """What was read of one file; ``address`` is how a message names it."""
        stream = _as_unicode(stream)
        problem, lines = content.problem, 0
        if content.data:
            try:
                observation = _observation(content.data, source, stream)
            except ValueError as error:
                problem = str(error)
            else:
                is_matrix = source is Source.NODE_METRICS
                lines = len(observation.series) if is_matrix else _line_count(content.data)
                self.observations += [observation] if lines else []
        if problem:
            self.complaints.append(f"{address}: {problem}")
        status = ConnectorStatus.ERROR if problem else ConnectorStatus.OK if lines else ConnectorStatus.EMPTY
        report = ConnectorReport(
            connector="file",
            instance=stream,
            source=source.value,
            status=status,
            observation_count=1 if lines else 0,
            lines=lines,
            reason=problem or None,
        )
        self.reports.append(report)

    def evidence(self) -> Evidence:
        """All of it."""
        return Evidence(self.job, self.observations, self.reports, self.complaints)


def _observation(data: bytes, source: Source, stream: str) -> Observation:
    """``ValueError`` when metrics are none."""
    if source is Source.NODE_METRICS:
        return Observation(source, ObservationFormat.PROMETHEUS_MATRIX, stream=stream, series=_series(data))
    text, redacted = redact(data)
    return Observation(source, stream=stream, text=text, redacted=redacted)


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
