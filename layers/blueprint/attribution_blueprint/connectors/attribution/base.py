"""What the orchestrator needs of the attribution service, wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from attribution_blueprint.setting_types import OptionalPath, Seconds, Secret, SettingsGroup, Texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from attribution_blueprint.connectors.base import Budget
    from attribution_lib.observation import Observation
    from attribution_lib.verdict import Verdict

__all__ = ["AttributionConnector", "AttributionSettings", "Delivered", "Handle"]


class AttributionSettings(SettingsGroup):
    """Where verdicts come from."""

    service_url: str = Field(default="", description="The service's address; empty: attribute in this process.")
    timeout_seconds: Seconds = Field(default=300.0, description="How long to wait for one context's verdict.")
    request_seconds: Seconds = Field(default=60.0, description="How long one request may take.")
    tries: int = Field(default=5, ge=1, description="How often a request is sent when the service is busy or away.")
    auth: Literal["none", "bearer", "sigv4"] = Field(default="none", description="How requests prove who sends them.")
    token: Secret = Field(default=Secret(""), description="Bearer token.")
    token_file: OptionalPath = Field(
        default="", description="File that holds the bearer token; read again when it changes."
    )
    token_command: Texts = Field(default=(), description="Command that prints the bearer token.")
    region: str = Field(default="", description="AWS region of the API, for sigv4.")
    data: OptionalPath = Field(default="", description="Folder of the local store; empty: the user's data folder.")
    rules: OptionalPath = Field(default="", description="Another rules folder; local attribution only.")
    ttl_seconds: Seconds = Field(default=7200.0, description="After how long a session that was left behind is gone.")


class Delivered(StrEnum):
    """How an observation came to be with the service."""

    NEW = "new"
    DUPLICATE = "duplicate"
    """It was there already: delivered."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A session that this run opened, and so may delete."""

    attributor_id: str


class AttributionConnector(Protocol):
    """The calls of the service that a run makes; threads share one."""

    def check(self) -> None:
        """Once before a run: ``AttributionFailedError`` unless the service is there and speaks our schema versions."""
        ...

    def open(self, job: Mapping[str, Any]) -> Handle:
        """A new session; ``AttributorConflictError`` when one is open, with the refusal as cause."""
        ...

    def submit(self, handle: Handle, observation: Observation) -> Delivered:
        """Deliver one observation; ``SubmissionError``."""
        ...

    def verdict(self, handle: Handle, budget: Budget) -> Verdict:
        """The verdict over what was delivered; waits for one that takes long; ``AttributionFailedError``."""
        ...

    def delete(self, handle: Handle) -> None:
        """Remove the session; gone already is fine; ``AttributionFailedError`` when it may still be there."""
        ...

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:
        """Failures in 30 days of each node, where the service knows."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...
