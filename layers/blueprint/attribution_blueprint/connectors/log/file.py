"""``file``: log files where the scheduler put them, or at given paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.collector import LogSettings
from attribution_blueprint.connectors.log.log_files import read_blocks, with_rotated
from attribution_blueprint.connectors.log.slurm_patterns import FoundFile, is_open, matching_files
from attribution_blueprint.context import PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import FilePaths
from attribution_lib.observation import Observation, Source
from attribution_service.slabs import cut_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["FileLog", "FileLogSettings"]

_REASONS_SHOWN = 5


class FileLogSettings(LogSettings):
    """Files of one source: the job's own output (source applog), what an adapter names, and ``paths``."""

    paths: FilePaths = Field(
        default=(),
        description="Further files: paths with wildcards and Slurm's %j %x %u %N %t …, as in /logs/%N/syslog.",
    )
    job_output: bool = Field(default=True, description="Read the files that the adapter names for this source.")
    rotated: bool = Field(default=True, description="Also read rotated predecessors (.1, -20260601, .gz, .zst, .xz).")
    missing_ok: bool = Field(default=False, description="A file that is not there is no error.")


class FileLog:
    """Reads files in batches of whole lines; memory does not grow with their length."""

    Settings: ClassVar[type[FileLogSettings]] = FileLogSettings

    def __init__(self, name: str, settings: FileLogSettings) -> None:
        self.name = name
        self.settings = settings

    @property
    def source(self) -> Source:
        """As set."""
        return self.settings.source

    def plan(self, context: ExecutionContext) -> list[str]:
        """The files that are there, and the patterns that fit none."""
        lines = []
        for pattern, globs in self._patterns(context):
            found = self._files(pattern, context, globs=globs)
            lines += [str(file.path) for file in found] or [f"{pattern} (nothing there)"]
        return lines

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every file, oldest first within a rotation; a file that fails costs only itself."""
        reasons = []
        seen: set[Path] = set()
        for pattern, globs in self._patterns(context):
            try:
                found = self._files(pattern, context, globs=globs)
                if not found and not self.settings.missing_ok and not is_open(pattern, globs=globs):
                    reasons.append(f"{pattern}: is not there")
            except CollectError as error:
                reasons.append(str(error))
                continue
            for file in found:
                if file.path in seen:
                    continue
                seen.add(file.path)
                try:
                    yield from self._read(file, budget)
                except CollectError as error:
                    budget.remaining()  # the end of the time is not the file's fault
                    reasons.append(str(error))
        if reasons:
            more = f" and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
            raise CollectError("; ".join(reasons[:_REASONS_SHOWN]) + more)

    def _patterns(self, context: ExecutionContext) -> Iterator[tuple[str, bool]]:
        """Each pattern, and whether its wildcards are meant."""
        for place in context.places if self.settings.job_output else ():
            mine = place.kind is PlaceKind.FILE and (place.source or Source.APPLOG) is self.source
            if mine and place.name not in ("", "/dev/null"):
                yield place.name, False
        yield from ((path, True) for path in self.settings.paths)

    def _files(self, pattern: str, context: ExecutionContext, *, globs: bool) -> list[FoundFile]:
        path = Path(pattern).expanduser() if globs else Path(pattern)
        if not path.is_absolute():
            if not context.workdir and not globs:
                msg = f"{pattern}: a relative path, and the job's working directory is not known"
                raise CollectError(msg)
            path = Path(context.workdir or ".").absolute() / path
        found = matching_files(str(path), context.info, globs=globs)
        if not self.settings.rotated:
            return found
        if not found and not is_open(str(path), globs=globs):
            found = [FoundFile(Path(str(path)))]
        return [
            FoundFile(part, file.node, file.rank)
            for file in found
            for part in with_rotated(file.path, context.window.start)
        ]

    def _read(self, file: FoundFile, budget: Budget) -> Iterator[Observation]:
        number = 1
        for text in cut_lines(read_blocks(file.path), self.settings.batch_bytes):
            budget.remaining()
            yield Observation(
                self.source, stream=str(file.path), first_line=number, node=file.node, rank=file.rank, text=text
            )
            number += text.count(b"\n")
