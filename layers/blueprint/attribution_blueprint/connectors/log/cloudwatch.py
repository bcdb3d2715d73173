"""``cloudwatch``: log streams of CloudWatch Logs, those of the job or all of a group in its window."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.connectors.collector import LogSettings
from attribution_blueprint.connectors.log.addresses import filled_addresses, named_places
from attribution_blueprint.context import EvidencePlace, PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import Texts
from attribution_lib.observation import LogEntries, Observation, ObservationFormat, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["CloudwatchLog", "CloudwatchSettings"]

_MICROS_A_MILLI = 1_000
_NANOS_A_MILLI = 1_000_000
_REASONS_SHOWN = 5


class CloudwatchSettings(LogSettings, AwsSettings):
    """Streams that the adapter names for this source, and ``streams`` of further groups."""

    job_output: bool = Field(default=True, description="Read the streams that the adapter names for this source.")
    streams: Texts = Field(
        default=(), description="Further ones as group:stream; {job_id} {name} {node} are filled in, * ends a prefix."
    )


class CloudwatchLog:
    """Reads events oldest first, page by page, each with its time."""

    Settings: ClassVar[type[CloudwatchSettings]] = CloudwatchSettings

    def __init__(self, name: str, settings: CloudwatchSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)
        self._clock = clock

    @property
    def source(self) -> Source:
        """As set."""
        return self.settings.source

    def plan(self, context: ExecutionContext) -> list[str]:
        """The streams."""
        return [f"{place.name}:{place.part or '*'}" for place in self._places(context)]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every stream; one that cannot be read costs only itself."""
        reasons = []
        for place in self._places(context):
            batch: list[dict[str, Any]] = []
            size, number = 0, 1
            try:
                for event in self._events(place, context, budget):
                    batch.append(event)
                    size += len(event["message"]) + 64
                    if size >= self.settings.batch_bytes:
                        yield self._observation(place, batch, number)
                        number += len(batch)
                        batch, size = [], 0
            except AWS_ERRORS as error:
                reasons.append(f"{place.name}:{place.part}: {reason_of(error)}")
            if batch:
                yield self._observation(place, batch, number)
        if reasons:
            raise CollectError("; ".join(reasons[:_REASONS_SHOWN]))

    def _places(self, context: ExecutionContext) -> Iterator[EvidencePlace]:
        if self.settings.job_output:
            yield from named_places(context, PlaceKind.CLOUDWATCH, self.source)
        for address, node in filled_addresses(self.settings.streams, context.info):
            group, _, stream = address.partition(":")
            yield EvidencePlace(PlaceKind.CLOUDWATCH, group, stream, node=node)

    def _events(self, place: EvidencePlace, context: ExecutionContext, budget: Budget) -> Iterator[dict[str, Any]]:
        window = context.window
        asked: dict[str, Any] = {"logGroupName": place.name}
        asked["endTime"] = int(self._clock() * 1000) if window.end is None else window.end // _MICROS_A_MILLI + 1
        if window.start is not None:
            asked["startTime"] = window.start // _MICROS_A_MILLI
        if place.part.endswith("*"):
            asked["logStreamNamePrefix"] = place.part[:-1]
        elif place.part:
            asked["logStreamNames"] = [place.part]
        logs = self._aws.client("logs")
        while True:
            budget.remaining()
            page = logs.filter_log_events(**asked)
            yield from page.get("events", ())
            # A page may be empty and yet not be the last.
            following = page.get("nextToken")
            if not following or following == asked.get("nextToken"):
                return
            asked["nextToken"] = following

    def _observation(self, place: EvidencePlace, batch: list[dict[str, Any]], number: int) -> Observation:
        entries = LogEntries(
            lines=[event["message"] for event in batch],
            stamps=[str(int(event["timestamp"]) * _NANOS_A_MILLI) for event in batch],
        )
        return Observation(
            self.source,
            ObservationFormat.JSON,
            stream=f"{place.name}:{place.part}",
            first_line=number,
            node=place.node,
            rank=place.rank,
            entries=entries,
        )
