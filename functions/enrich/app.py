"""A workflow's task: the raw verdict of a session, normalised, with the coverage of the run, stored as an object.

Arrives: ``{"enrich": EnrichRequest}``. Leaves: ``Enriched``; refusals are the errors of ``attribution_service.errors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_service.enrichment import EnrichRequest, enrich
from attribution_service.http.function import Function
from attribution_service.requests import validated
from attribution_service.service import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

function = Function("enrich")
handler = function.handler


def _enrich(host: Host, event: Mapping[str, Any]) -> dict[str, Any]:
    """Only the state machine may invoke this function, so every cluster is its."""
    request = validated(EnrichRequest, event["enrich"], where="enrich")
    return enrich(host.service, EVERYTHING, request).model_dump(mode="json")


function.tasks["enrich"] = _enrich
