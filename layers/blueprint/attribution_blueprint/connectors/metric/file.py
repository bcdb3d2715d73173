"""``file``: replies of Prometheus' query API, kept in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.collector import MetricSettings
from attribution_blueprint.connectors.log.slurm_patterns import is_open, matching_files
from attribution_blueprint.context import PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import FilePaths
from attribution_lib.errors import ObservationError
from attribution_lib.observation import Observation, ObservationFormat, Source
from attribution_lib.observation_parse import parse_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["FileMetricSettings", "FileMetrics"]


class FileMetricSettings(MetricSettings):
    """Files with a Prometheus matrix in JSON: what the adapter names, and ``paths``."""

    paths: FilePaths = Field(default=(), description="Further files; wildcards and Slurm's %j %x %N are known.")


class FileMetrics:
    """One observation a file."""

    Settings: ClassVar[type[FileMetricSettings]] = FileMetricSettings

    def __init__(self, name: str, settings: FileMetricSettings) -> None:
        self.name = name
        self.settings = settings

    @property
    def source(self) -> Source:
        """Metrics."""
        return Source.NODE_METRICS

    def plan(self, context: ExecutionContext) -> list[str]:
        """The patterns."""
        return [pattern for pattern, _ in self._patterns(context)]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every file that is there."""
        reasons = []
        for pattern, globs in self._patterns(context):
            found = matching_files(str(Path(pattern).absolute()), context.info, globs=globs)
            if not found and not is_open(pattern, globs=globs):
                reasons.append(f"{pattern}: is not there")
            for file in found:
                budget.remaining()
                try:
                    series = parse_matrix(json.loads(file.path.read_bytes()))
                except (OSError, ValueError, RecursionError, ObservationError) as error:
                    reasons.append(f"{file.path}: {error}")
                    continue
                if series:
                    layout = ObservationFormat.PROMETHEUS_MATRIX
                    yield Observation(Source.NODE_METRICS, layout, stream=str(file.path), series=series)
        if reasons:
            raise CollectError("; ".join(reasons))

    def _patterns(self, context: ExecutionContext) -> Iterator[tuple[str, bool]]:
        for place in context.places:
            if place.kind is PlaceKind.FILE and place.source is Source.NODE_METRICS:
                yield place.name, False
        yield from ((path, True) for path in self.settings.paths)
