"""Where evidence lies at a place that an address names: what the adapter says, and what settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
    from attribution_lib.job.model import JobInfo

__all__ = ["filled_addresses", "named_places"]


def named_places(context: ExecutionContext, kind: PlaceKind, source: Source) -> Iterator[EvidencePlace]:
    """The places of this kind that the adapter names for this source; one without a source has application logs."""
    for place in context.places:
        if place.kind is kind and (place.source or Source.APPLOG) is source:
            yield place


def filled_addresses(given: Iterable[str], info: JobInfo) -> Iterator[tuple[str, str | None]]:
    """(address, node) with ``{job_id} {name} {node}`` filled in: one for each node where the address names it."""
    for address in given:
        for node in info.nodes if "{node}" in address else ("",):
            filled = address.replace("{job_id}", info.job_id).replace("{name}", info.name).replace("{node}", node)
            yield filled, node or None
