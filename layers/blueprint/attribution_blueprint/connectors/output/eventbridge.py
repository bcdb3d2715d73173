"""``eventbridge``: each verdict as an event of a bus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.errors import OutputError

if TYPE_CHECKING:
    from attribution_service.result import EnrichedVerdict

__all__ = ["EventbridgeSettings", "EventbridgeSink"]

_LONGEST = 250_000
"""An entry may have 256 KB, its other fields included."""
_LONG_PARTS = ("symptoms", "chain", "collections", "alternatives", "needed_evidence", "interesting_nodes", "bad_nodes")
"""What is left out of an event that would be too long, in this order."""


class EventbridgeSettings(AwsSettings):
    """An event bus."""

    bus: str = Field(default="default", description="The bus' name or ARN.")
    event_source: str = Field(default="attribution", min_length=1, description="The events' source.")
    detail_type: str = Field(default="attribution.verdict.v2", min_length=1, description="The events' detail-type.")


class EventbridgeSink:
    """One event a verdict; one that is too long for an event says in ``left_out`` what is missing."""

    Settings: ClassVar[type[EventbridgeSettings]] = EventbridgeSettings

    def __init__(self, name: str, settings: EventbridgeSettings) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)

    def write(self, verdict: EnrichedVerdict) -> None:
        """Put one event; returns once the bus has taken it."""
        entry = {
            "EventBusName": self.settings.bus,
            "Source": self.settings.event_source,
            "DetailType": self.settings.detail_type,
            "Resources": [verdict.attributor_id],
            "Detail": _detail(verdict.model_dump(mode="json", by_alias=True)),
        }
        try:
            reply = self._aws.client("events").put_events(Entries=[entry])
        except AWS_ERRORS as error:
            msg = f"output {self.name}: bus {self.settings.bus}: {reason_of(error)}"
            raise OutputError(msg) from error
        if reply.get("FailedEntryCount"):
            failed = reply["Entries"][0]
            msg = f"output {self.name}: bus {self.settings.bus}: {failed.get('ErrorCode')} {failed.get('ErrorMessage')}"
            raise OutputError(msg)

    def close(self) -> None:
        """Nothing is kept back."""


def _detail(document: dict[str, Any]) -> str:
    """The verdict as text short enough for an event."""
    left_out: list[str] = []
    for part in (None, *_LONG_PARTS):
        if part is not None:
            document.pop(part, None)
            left_out.append(part)
        text = json.dumps(document | ({"left_out": left_out} if left_out else {}), separators=(",", ":"))
        if len(text.encode("utf-8", "replace")) <= _LONGEST:
            break
    return text
