"""Direct invocations by the state machines, as tasks of the functions that serve the API: validated, then handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_service.requests import validated
from attribution_service.workflow.evidence import (
    GatherTask,
    IngestTask,
    TallyTask,
    gather_task,
    ingest_task,
    tally_task,
)
from attribution_service.workflow.sessions import (
    AttributeTask,
    CleanupTask,
    OpenTask,
    attribute_task,
    cleanup_task,
    open_task,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

__all__ = ["attribute_for", "cleanup_for", "gather_for", "ingest_for", "open_for", "tally_for"]


def open_for(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``{"open": OpenTask}``: ``Opened``."""
    return open_task(host.service, validated(OpenTask, event["open"], where="open")).model_dump(mode="json")


def cleanup_for(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``{"cleanup": {"state": …, "opened_by": …}}``: ``Cleaned``. A state that came to no context left nothing."""
    given = event["cleanup"]
    state = given["state"]
    names = {name: str(state.get(name) or "") for name in ("run_id", "context")}
    request = validated(CleanupTask, {**names, "opened_by": given["opened_by"]}, where="cleanup")
    return cleanup_task(host.service, request).model_dump(mode="json")


def gather_for(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``{"gather": GatherTask}``: ``Chunked``."""
    return gather_task(host.service, validated(GatherTask, event["gather"], where="gather")).model_dump(mode="json")


def ingest_for(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``{"ingest": IngestTask}``: nothing, so that a map over thousands leaves nothing big; the tally has it."""
    ingest_task(host.service, validated(IngestTask, event["ingest"], where="ingest"))
    return {}


def tally_for(host: Host, event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of ``{"tally": TallyTask}``: one ``IngestionReport`` a collector."""
    reports = tally_task(host.service, validated(TallyTask, event["tally"], where="tally"))
    return [report.model_dump(mode="json") for report in reports]


def attribute_for(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``{"attribute": AttributeTask}``: ``Judged``."""
    request = validated(AttributeTask, event["attribute"], where="attribute")
    return attribute_task(host.service, request).model_dump(mode="json")
