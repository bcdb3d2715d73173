"""What an execution-context adapter is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from pydantic import Field

from attribution_blueprint.setting_types import ComponentSettings, Seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["AdapterSettings", "EcaConnector"]


class AdapterSettings(ComponentSettings):
    """Settings that every adapter has."""

    cluster: str = Field(default="", description="Name of the cluster in verdicts; empty: the scheduler's, or default.")
    timeout_seconds: Seconds = Field(default=120.0, description="How long discovery may take.")


class EcaConnector(Protocol):
    """Finds execution contexts.

    ``discover`` gives each attempt of each selected workload once, jobs still running left out unless asked for, and
    raises ``DiscoveryError`` saying what the scheduler said. A row it cannot read is logged and left out, never all.
    """

    Settings: ClassVar[type[ComponentSettings]]

    def __init__(self, name: str, settings: ComponentSettings) -> None: ...

    def discover(self, budget: Budget) -> Sequence[ExecutionContext]:
        """The contexts that the settings select."""
        ...
