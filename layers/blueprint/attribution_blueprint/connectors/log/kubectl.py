"""``kubectl``: what the containers of the job's pods wrote, those before a restart included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote, urlencode

from pydantic import Field

from attribution_blueprint.connectors.collector import LogSettings
from attribution_blueprint.connectors.commands import command_output, run_command
from attribution_blueprint.connectors.kubectl import Kubectl, KubectlSettings
from attribution_blueprint.context import PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import Size
from attribution_lib.observation import Observation, Source
from attribution_lib.rfc3339 import format_instant
from attribution_service.slabs import cut_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import EvidencePlace, ExecutionContext

__all__ = ["KubectlLog", "KubectlLogSettings"]

_NO_PREVIOUS = re.compile(r"previous terminated container .* not found")
_NOT_BEGUN = re.compile(r"is waiting to start|ContainerCreating|PodInitializing")
_REASONS_SHOWN = 5


class KubectlLogSettings(LogSettings, KubectlSettings):
    """Logs of the pods that the adapter names, as long as Kubernetes keeps them."""

    previous: bool = Field(default=True, description="Also read what a container wrote before its last restart.")
    limit_bytes: Size = Field(default=1 << 30, description="Read at most so much of one container.")


class KubectlLog:
    """Reads the log of one container after the other, each line with its time."""

    Settings: ClassVar[type[KubectlLogSettings]] = KubectlLogSettings

    def __init__(self, name: str, settings: KubectlLogSettings) -> None:
        self.name = name
        self.settings = settings
        self._kubectl = Kubectl(settings, run_command)

    @property
    def source(self) -> Source:
        """As set."""
        return self.settings.source

    def plan(self, context: ExecutionContext) -> list[str]:
        """The containers."""
        return [f"{place.name} {place.part}".strip() for place in self._places(context)]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every container; one that cannot be read costs only itself."""
        reasons = []
        for place in self._places(context):
            for previous in (True, False) if self.settings.previous else (False,):
                try:
                    yield from self._read(place, context, budget, previous=previous)
                except CollectError as error:
                    budget.remaining()  # the end of the time is not the container's fault
                    said = str(error)
                    if not (previous and _NO_PREVIOUS.search(said)) and not _NOT_BEGUN.search(said):
                        reasons.append(f"{place.name}: {said}")
        if reasons:
            more = f" and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
            raise CollectError("; ".join(reasons[:_REASONS_SHOWN]) + more)

    def _places(self, context: ExecutionContext) -> list[EvidencePlace]:
        return [
            place
            for place in context.places
            if place.kind is PlaceKind.POD and (place.source or Source.APPLOG) is self.source
        ]

    def _read(
        self, place: EvidencePlace, context: ExecutionContext, budget: Budget, *, previous: bool
    ) -> Iterator[Observation]:
        namespace, _, pod = place.name.partition("/")
        asked = {"timestamps": "true", "limitBytes": str(self.settings.limit_bytes), "previous": str(previous).lower()}
        asked |= {"container": place.part} if place.part else {}
        start = context.window.start
        asked |= {"sinceTime": format_instant(start)} if start is not None else {}
        # The bare path of the API: kubectl logs would ask for every group of resources first.
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log?{urlencode(asked)}"
        words = ["get", f"--raw={path}"]
        stream = "/".join(part for part in (place.name, place.part, "previous" if previous else "") if part)
        number = 1
        with command_output(self._kubectl.words(*words), budget, longest=self.settings.limit_bytes + 1) as out:
            for text in cut_lines(iter(lambda: out.read(1 << 20), b""), self.settings.batch_bytes):
                budget.remaining()
                yield Observation(
                    self.source, stream=stream, first_line=number, node=place.node, rank=place.rank, text=text
                )
                number += text.count(b"\n")
