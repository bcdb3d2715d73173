"""``static``: one workload by hand, one job file, or folders of cases."""

from __future__ import annotations

import logging
import tomllib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

from pydantic import Field

from attribution_blueprint.case_files import JOB_FILE, METRICS_FILE, TEXT_FILES
from attribution_blueprint.connectors.eca.base import AdapterSettings
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import DiscoveryError
from attribution_blueprint.setting_types import FilePaths, OptionalPath, Texts
from attribution_lib.errors import JobError
from attribution_lib.fields import read_zone
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_blueprint.connectors.base import Budget

__all__ = ["StaticAdapter", "StaticSettings"]

_log = logging.getLogger(__name__)
_NAMED = 3
_JOB_FIELDS = (
    "job_id",
    "attempt",
    "scheduler",
    "user",
    "name",
    "partition",
    "state",
    "exit_code",
    "reason",
    "nodes",
    "failed_node",
    "start",
    "end",
    "timezone",
)


class StaticSettings(AdapterSettings):
    """One workload by hand (a job id, or nodes with a window), a job file, or folders of cases."""

    cases: FilePaths = Field(default=(), description="Case folders, or folders that hold case folders.")
    job_file: OptionalPath = Field(default="", description="A job.toml: every field of a job.")
    job_id: str = Field(default="", description="Job id; may be left out when nodes, start and end are given.")
    attempt: int = Field(default=0, ge=0, description="Which attempt (requeue, restart).")
    scheduler: str = Field(default="static", description="Who ran it: slurm, kueue, batch, sagemaker, static.")
    user: str = Field(default="", description="Whose job.")
    name: str = Field(default="", description="The job's name.")
    partition: str = Field(default="", description="Partition or queue.")
    state: str = Field(default="", description="The scheduler's state word.")
    exit_code: str = Field(default="", description="code:signal, as Slurm prints it.")
    reason: str = Field(default="", description="The scheduler's reason.")
    nodes: Texts = Field(default=(), description="Node names or host lists such as gpu-[0001-0128].")
    failed_node: str = Field(default="", description="The node that the scheduler says failed.")
    start: str | datetime = Field(default="", description="When it started (RFC 3339).")
    end: str | datetime = Field(default="", description="When it ended (RFC 3339).")
    timezone: str = Field(default="UTC", description="Where times without an offset are read.")
    workdir: OptionalPath = Field(default="", description="Where relative paths of its output begin.")
    output: Texts = Field(default=(), description="Its output files; Slurm's %-patterns are known.")


class StaticAdapter:
    """The contexts that the settings spell out. All were asked for, so completed ones are attributed too."""

    Settings: ClassVar[type[StaticSettings]] = StaticSettings

    def __init__(self, name: str, settings: StaticSettings) -> None:
        self.name = name
        self.settings = settings

    def discover(self, budget: Budget) -> list[ExecutionContext]:  # noqa: ARG002 -- nothing here waits
        """Cases, then the job file, then the job by hand."""
        chosen = self.settings
        contexts = self._cases()
        if chosen.job_file:
            contexts.append(self._of_fields(_read(Path(chosen.job_file)), chosen.job_file, self._output()))
        by_hand = self._by_hand()
        if by_hand:
            contexts.append(self._of_fields(by_hand, f"[eca.{self.name}]", self._output()))
        if not contexts and not chosen.cases:
            msg = f"eca {self.name}: no job given; expected cases, job_file, job_id, or nodes with start and end"
            raise DiscoveryError(msg)
        return contexts

    def _cases(self) -> list[ExecutionContext]:
        """One context a folder; folders that mean the same attempt are told of, since only the first is attributed."""
        given = [folder.absolute() for path in self.settings.cases for folder in _case_folders(Path(path))]
        first: dict[str, tuple[Path, ExecutionContext]] = {}
        doubled: list[str] = []
        for folder in dict.fromkeys(given):
            context = self._of_case(folder)
            kept, _ = first.setdefault(context.key, (folder, context))
            if kept != folder:
                doubled.append(f"{folder} is {context.key} like {kept}")
        if doubled:
            _log.warning(
                "eca %s: case folders left out because another has the same cluster, job id and attempt: %d: %s%s; "
                "give each an attempt of its own",
                *(self.name, len(doubled), "; ".join(doubled[:_NAMED]), " …" if len(doubled) > _NAMED else ""),
            )
        return [context for _, context in first.values()]

    def _by_hand(self) -> dict[str, Any]:
        chosen = self.settings
        if not chosen.job_id and not chosen.nodes:
            return {}
        given = {field: getattr(chosen, field) for field in _JOB_FIELDS}
        fields = {field: value for field, value in given.items() if value not in ("", ())}
        return {**fields, "nodes": list(chosen.nodes)} if chosen.nodes else fields

    def _output(self) -> tuple[EvidencePlace, ...]:
        return tuple(EvidencePlace(PlaceKind.FILE, path) for path in self.settings.output)

    def _of_case(self, folder: Path) -> ExecutionContext:
        return self._of_fields(_read(folder / JOB_FILE), str(folder / JOB_FILE), tuple(_places(folder)))

    def _of_fields(
        self, fields: Mapping[str, Any], address: str, places: tuple[EvidencePlace, ...]
    ) -> ExecutionContext:
        given = {**fields, "cluster": self.settings.cluster} if self.settings.cluster else fields
        try:
            info = JobInfoBuilder.from_mapping(given, naive_in_timezone=True, nodes_suffice=True).build()
        except JobError as error:
            msg = f"{address}: {error}"
            raise DiscoveryError(msg) from error
        zone = read_zone(str(given.get("timezone", "UTC")))
        assert isinstance(zone, ZoneInfo)  # noqa: S101 -- the builder has checked it
        job = {**_json(given, zone), "job_id": info.job_id}
        return ExecutionContext.of(job, adapter=self.name, places=places, workdir=self.settings.workdir, asked=True)


def _case_folders(given: Path) -> Iterator[Path]:
    if (given / JOB_FILE).is_file():
        yield given
        return
    found = sorted(path.parent for path in given.glob(f"*/{JOB_FILE}"))
    if not found:
        msg = f"{given}: no case folder; expected a folder with a {JOB_FILE}, or a folder of such folders"
        raise DiscoveryError(msg)
    yield from found


def _places(folder: Path) -> Iterator[EvidencePlace]:
    for name, source in (*TEXT_FILES.items(), (METRICS_FILE, Source.NODE_METRICS)):
        if (folder / name).exists():
            yield EvidencePlace(PlaceKind.FILE, str(folder / name), source=source)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read as TOML ({error}); expected a job file"
        raise DiscoveryError(msg) from error


def _json(value: Any, zone: ZoneInfo) -> Any:
    """The value as the wire has it: times as RFC 3339 text with their offset."""
    if isinstance(value, dict):
        return {key: _json(part, zone) for key, part in value.items()}
    if isinstance(value, list):
        return [_json(part, zone) for part in value]
    if isinstance(value, datetime):
        return (value if value.utcoffset() is not None else value.replace(tzinfo=zone)).isoformat()
    return value
