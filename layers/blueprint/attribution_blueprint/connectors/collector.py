"""What a collector is, of logs and of metrics alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pydantic import Field

from attribution_blueprint.setting_types import ComponentSettings, Seconds, Size
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext
    from attribution_lib.observation import Observation

__all__ = ["Collector", "CollectorSettings", "LogSettings", "MetricSettings"]


class CollectorSettings(ComponentSettings):
    """Settings that every collector has."""

    timeout_seconds: Seconds = Field(default=600.0, description="How long it may work for one context.")


class LogSettings(CollectorSettings):
    """Settings that every log collector has."""

    source: Literal[Source.APPLOG, Source.SYSLOG, Source.SCHEDULER] = Field(
        default=Source.APPLOG, description="What these lines are; one instance brings one source."
    )
    batch_bytes: Size = Field(default=8 << 20, description="Text in one observation; memory stays a few times that.")


class MetricSettings(CollectorSettings):
    """Settings that every metric collector has; its source is ``node_metrics``."""


class Collector(Protocol):
    """Brings the evidence of one source for one context.

    ``collect`` yields observations as they are read, each bounded, of ``source``; ``(stream, first_line)`` must
    address lines the same way in every run, or the collector gives an ``observation_id``. Nothing there is no error:
    it yields nothing. What could not be read is a ``CollectError``, raised after everything that could be was yielded.
    It is called from several threads at once, one a context. A window's open side is read without bound.
    """

    Settings: ClassVar[type[CollectorSettings]]

    def __init__(self, name: str, settings: CollectorSettings) -> None: ...

    @property
    def source(self) -> Source:
        """The one source of this instance."""
        ...

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Read what there is."""
        ...

    def plan(self, context: ExecutionContext) -> Sequence[str]:
        """What ``collect`` would read, one line each (paths, queries); asks nothing over a network."""
        ...
