"""Evidence on disk: a case folder, or loose log files that are one job together.

Reading only: which file is which source, what the job file says, what could not be read. The engine does the rest.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import EvidenceError
from attribution_lib.errors import JobError
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, ObservationFormat, Source
from attribution_lib.observation_parse import parse_matrix
from attribution_lib.redaction import redact
from attribution_service.result import ConnectorReport, ConnectorStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from attribution_lib.job.model import JobInfo
    from attribution_lib.names import NodeNames

__all__ = [
    "JOB_FILE",
    "METRICS_FILE",
    "TEXT_FILES",
    "Evidence",
    "read_case_folder",
    "read_job_file",
    "read_loose_files",
    "source_of_name",
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """One job with what was read of its evidence, file by file."""

    job: JobInfo
    observations: Sequence[Observation]
    reports: Sequence[ConnectorReport]
    ignored: Sequence[str] = ()
    """Files that are there and were not read."""


def read_case_folder(folder: Path, *, names: NodeNames | None = None) -> Evidence:
    """Read a case folder (see ``samples/README.md``). A file that cannot be read is reported, not fatal."""
    job_file = folder / JOB_FILE
    if not job_file.is_file():
        msg = f"{folder}: no {JOB_FILE}; expected a case folder with a {JOB_FILE} and at least one of {_known_files()}"
        raise EvidenceError(msg)
    job = read_job_file(job_file, names=names)
    observations: list[Observation] = []
    reports: list[ConnectorReport] = []
    ignored: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name in TEXT_FILES:
            _take(path, TEXT_FILES[path.name], path.name, observations, reports)
        elif path.name == METRICS_FILE:
            _take(path, Source.NODE_METRICS, path.name, observations, reports)
        elif path.name not in (JOB_FILE, _LABEL_FILE):
            ignored.append(str(path))
    return Evidence(job, observations, reports, ignored)


def read_job_file(path: Path, *, names: NodeNames | None = None) -> JobInfo:
    """A ``job.toml``: the keys of a job, strictly; naive date-times are read in its ``timezone``."""
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); expected a readable TOML file"
        raise EvidenceError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: is not TOML: {error}"
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
    """Read files (``-`` is standard input) as the evidence of one job; a stream is the path as given."""
    observations: list[Observation] = []
    reports: list[ConnectorReport] = []
    for given in paths:
        if given == "-":
            data = stdin().read()
            _add(data, source or Source.APPLOG, given, observations, reports)
        else:
            path = Path(given)
            _take(path, source or source_of_name(path), given, observations, reports)
    return Evidence(job, observations, reports)


def source_of_name(path: Path) -> Source:
    """The source that a loose file's name suggests; a JSON matrix is metrics, anything else an application log."""
    name = path.name.lower()
    for source, parts in _SOURCE_NAMES.items():
        if any(part in name for part in parts):
            return source
    return Source.NODE_METRICS if path.suffix == ".json" and _is_matrix(path) else Source.APPLOG


def _is_matrix(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(4096).lstrip()
    except OSError:
        return False
    return head[:1] in (b"[", b"{") and b'"metric"' in head and b'"values"' in path.read_bytes()


def _known_files() -> str:
    return ", ".join([*TEXT_FILES, METRICS_FILE])


def _take(
    path: Path, source: Source, stream: str, observations: list[Observation], reports: list[ConnectorReport]
) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        reports.append(_failed(stream, source, f"{path}: cannot be read: {error.strerror or error}"))
        return
    _add(data, source, stream, observations, reports)


def _add(
    data: bytes, source: Source, stream: str, observations: list[Observation], reports: list[ConnectorReport]
) -> None:
    try:
        observation = _observation(data, source, stream)
    except ValueError as error:
        reports.append(_failed(stream, source, f"{stream}: {error}"))
        return
    lines = len(observation.series) if source is Source.NODE_METRICS else _line_count(data)
    status = ConnectorStatus.OK if lines else ConnectorStatus.EMPTY
    if lines:
        observations.append(observation)
    reports.append(
        ConnectorReport(
            connector="file",
            instance=stream,
            source=source.value,
            status=status,
            observation_count=1 if lines else 0,
            lines=lines,
        )
    )


def _observation(data: bytes, source: Source, stream: str) -> Observation:
    if source is Source.NODE_METRICS:
        try:
            series = parse_matrix(json.loads(data))
        except RecursionError as error:
            msg = "is nested too deeply; expected a Prometheus matrix"
            raise ValueError(msg) from error
        return Observation(source, ObservationFormat.PROMETHEUS_MATRIX, stream=stream, series=series)
    text, redacted = redact(data)
    return Observation(source, stream=stream, text=text, redacted=redacted)


def _failed(stream: str, source: Source, reason: str) -> ConnectorReport:
    return ConnectorReport(
        connector="file",
        instance=stream,
        source=source.value,
        status=ConnectorStatus.ERROR,
        observation_count=0,
        lines=0,
        reason=reason,
    )


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
