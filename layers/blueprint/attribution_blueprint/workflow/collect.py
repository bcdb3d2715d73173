"""One collector's evidence of one context, each observation an object; memory holds one at a time."""

from __future__ import annotations

import dataclasses
import gzip
import json
import threading
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from attribution_blueprint.collecting import Collecting
from attribution_blueprint.connectors.attribution.wire import pack
from attribution_blueprint.discovery import sources_of
from attribution_blueprint.errors import CollectError
from attribution_blueprint.workflow.documents import load_context
from attribution_service.model import Identifier
from attribution_service.workflow.keys import ContextKeys

if TYPE_CHECKING:
    from attribution_blueprint.workflow.host import WorkflowHost
    from attribution_service.result import ConnectorReport

__all__ = ["CollectTask", "collect"]

_REASON = 300


class CollectTask(BaseModel):
    """Collect what one instance has of one context."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: Identifier
    context: Identifier
    job_ref: str
    instance: Identifier


def collect(host: WorkflowHost, request: CollectTask) -> ConnectorReport:
    """Keep each observation and say how it went; another try replaces what the last one kept.

    ``CollectError`` when there is no such instance; what the collector itself meets is in the report.
    """
    source = next((one for one in sources_of(host.configuration()) if one.instance == request.instance), None)
    if source is None:
        msg = f"collector {request.instance!r}: is not configured any more"
        raise CollectError(msg)
    source = dataclasses.replace(source, seconds=min(source.seconds, host.collect_seconds))
    keys, objects = ContextKeys(request.run_id, request.context), host.service.store.objects
    context = load_context(objects, request.job_ref, host.service.settings.names)
    collecting, sizes = Collecting([source], context, threading.Event()), []
    for number, (_, observation) in enumerate(collecting):
        body = pack(observation)
        objects.put(keys.batch(request.instance, number), gzip.compress(body, compresslevel=1, mtime=0))
        sizes.append(len(body))
    objects.put(keys.batches(request.instance), json.dumps(sizes).encode())
    (report,) = collecting.reports
    return report.model_copy(update={"reason": report.reason and report.reason[:_REASON]})
