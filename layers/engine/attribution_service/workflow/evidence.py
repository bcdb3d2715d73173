"""Collected observations on their way into a session: cut into chunks, delivered chunk by chunk, counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, TypeAdapter

from attribution_lib.errors import AttributionError
from attribution_lib.observation import ObservationFormat
from attribution_lib.parsing.limits import unpack
from attribution_service.deliver import refusals
from attribution_service.errors import (
    DuplicateObservationError,
    NotFoundError,
    ObservationConflictError,
    ServiceError,
    StoreError,
)
from attribution_service.ingest import ingest, ingest_text
from attribution_service.model import Identifier
from attribution_service.ports import ObjectMissingError
from attribution_service.result import IngestionReport
from attribution_service.service import EVERYTHING
from attribution_service.workflow.keys import ContextKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_service.ports import ObjectStore
    from attribution_service.service import Service
    from attribution_service.settings import Settings

__all__ = [
    "Chunk",
    "Chunked",
    "CollectorName",
    "GatherTask",
    "IngestTask",
    "TallyTask",
    "gather_task",
    "ingest_task",
    "tally_task",
]

_REASON = 300
_NDJSON = "application/x-ndjson"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CollectorName(_Model):
    """One configured collector: component, instance, and what its evidence is."""

    connector: str
    instance: Identifier
    source: str


class Chunk(_Model):
    """Some observations of one collector that follow one another."""

    connector: str
    instance: Identifier
    first: int
    count: int


class GatherTask(_Model):
    """Cut what the collectors of a context brought into chunks."""

    run_id: Identifier
    context: Identifier
    collectors: list[CollectorName]


class Chunked(_Model):
    """``chunks`` is empty when there are too many for a state: then they are read from the object ``key``."""

    count: int
    many: bool
    chunks: list[Chunk]
    key: str


class IngestTask(_Model):
    """Deliver one chunk to a session."""

    run_id: Identifier
    context: Identifier
    attributor_id: Identifier
    chunk: Chunk


class TallyTask(_Model):
    """Count what became of all chunks of a context."""

    run_id: Identifier
    context: Identifier
    collectors: list[CollectorName]


_CHUNKS = TypeAdapter(list[Chunk])


def gather_task(service: Service, request: GatherTask) -> Chunked:
    """Chunks of bounded size over everything that was collected; a collector that left nothing has none."""
    keys, objects = ContextKeys(request.run_id, request.context), service.store.objects
    chunks = [
        Chunk(connector=one.connector, instance=one.instance, first=first, count=count)
        for one in request.collectors
        for first, count in _cut(_sizes(objects, keys.batches(one.instance)), service.settings)
    ]
    objects.put(keys.chunks, _CHUNKS.dump_json(chunks))
    many = len(chunks) > service.settings.inline_chunks
    return Chunked(count=len(chunks), many=many, chunks=[] if many else chunks, key=keys.chunks)


def ingest_task(service: Service, request: IngestTask) -> IngestionReport:
    """Deliver each observation of a chunk; what is refused is counted. The report is also kept for the tally.

    ``StoreError`` and ``NotFoundError`` (the session is gone) are raised: another try may, or never will, go on.
    """
    keys, chunk = ContextKeys(request.run_id, request.context), request.chunk
    tally = {"delivered": 0, "duplicates": 0, "conflicts": 0, "failed": 0}
    error = None
    for number in range(chunk.first, chunk.first + chunk.count):
        body = service.store.objects.get(keys.batch(chunk.instance, number))
        try:
            _deliver(service, request.attributor_id, body)
        except DuplicateObservationError:
            tally["duplicates"] += 1
        except (NotFoundError, StoreError):
            raise
        except (ServiceError, AttributionError) as refusal:
            tally["conflicts" if isinstance(refusal, ObservationConflictError) else "failed"] += 1
            error = f"{chunk.instance} {number}: {refusal}"[:_REASON]
            continue
        tally["delivered"] += 1
    report = IngestionReport(connector=chunk.connector, instance=chunk.instance, **tally, last_error=error)
    service.store.objects.put(keys.receipt(chunk.instance, chunk.first), report.model_dump_json().encode())
    return report


def _deliver(service: Service, attributor_id: str, kept: bytes) -> None:
    """One observation as ``collect`` kept it: text follows its header as it is, everything else is NDJSON."""
    with refusals():
        body = unpack(kept, service.settings.limits.observation.upload_bytes)
    first, _, rest = body.partition(b"\n")
    header = json.loads(first)
    if header.get("format") == ObservationFormat.TEXT.value:
        ingest_text(service, EVERYTHING, attributor_id, header, rest)
    else:
        ingest(service, EVERYTHING, attributor_id, body, content_type=_NDJSON, wire_bytes=len(body))


def tally_task(service: Service, request: TallyTask) -> list[IngestionReport]:
    """One report a collector; the observations of a chunk that nobody finished count as failed."""
    keys, objects = ContextKeys(request.run_id, request.context), service.store.objects
    chunks = _CHUNKS.validate_json(objects.get(keys.chunks))
    return [
        _merged(one, [_receipt(objects, keys, chunk) for chunk in chunks if chunk.instance == one.instance])
        for one in request.collectors
    ]


def _sizes(objects: ObjectStore, key: str) -> Sequence[int]:
    """Bytes of each observation that a collector brought."""
    try:
        sizes: list[int] = json.loads(objects.get(key))
    except ObjectMissingError:
        return []
    return sizes


def _cut(sizes: Sequence[int], limits: Settings) -> Iterator[tuple[int, int]]:
    """(first, count) of runs that are bounded in number and in bytes."""
    first = total = 0
    for number, size in enumerate(sizes):
        if number > first and (number - first >= limits.chunk_batches or total + size > limits.chunk_bytes):
            yield first, number - first
            first, total = number, 0
        total += size
    if sizes:
        yield first, len(sizes) - first


def _receipt(objects: ObjectStore, keys: ContextKeys, chunk: Chunk) -> IngestionReport:
    try:
        return IngestionReport.model_validate_json(objects.get(keys.receipt(chunk.instance, chunk.first)))
    except ObjectMissingError:
        last = chunk.first + chunk.count - 1
        return IngestionReport(
            connector=chunk.connector,
            instance=chunk.instance,
            delivered=0,
            duplicates=0,
            conflicts=0,
            failed=chunk.count,
            last_error=f"{chunk.instance} {chunk.first} to {last}: were not delivered",
        )


def _merged(one: CollectorName, reports: Iterable[IngestionReport]) -> IngestionReport:
    found = list(reports)
    return IngestionReport(
        connector=one.connector,
        instance=one.instance,
        delivered=sum(report.delivered for report in found),
        duplicates=sum(report.duplicates for report in found),
        conflicts=sum(report.conflicts for report in found),
        failed=sum(report.failed for report in found),
        last_error=next((report.last_error for report in reversed(found) if report.last_error), None),
    )
