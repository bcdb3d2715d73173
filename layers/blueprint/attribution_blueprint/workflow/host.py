"""What the tasks of a workflow run in: the service, the connectors of the site, and where rows go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.run_rows import RunRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_blueprint.settings import Configuration
    from attribution_service.service import Service

__all__ = ["WorkflowHost"]


@dataclass(frozen=True, slots=True)
class WorkflowHost:
    """Everything that a task needs; threads share one. ``service.store.objects`` holds what tasks hand one another."""

    service: Service
    configuration: Callable[[], Configuration]
    """The site's connectors, called once a task; expected to remember."""
    bucket: str = "local"
    """Named in references to objects: ``s3://bucket/key``."""
    collect_seconds: float = 840.0
    """Longest time for one collector, whatever its settings say: less than the function's."""

    @property
    def rows(self) -> RunRows:
        """What is kept of runs."""
        return RunRows.of(self.service.store, self.service.clock)

    def reference(self, key: str) -> str:
        """How an object of this store is named outside of it."""
        return f"s3://{self.bucket}/{key}"
