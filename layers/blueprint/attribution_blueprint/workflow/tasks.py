"""The tasks of one context and of a run, in the order in which the state machines call them.

``host`` is a ``WorkflowHost``, ``service`` its service; requests and answers are small and serialisable.

    discover_fleet(host, FleetRequest, execution) -> Manifest            JSON array of job references
    accept_job / discover_job(host, JobRequest, execution) -> Accepted   context, job_ref, collectors
    open_task(service, OpenTask) -> Opened                               opened | conflicted | found
    collect(host, CollectTask) -> ConnectorReport                        for each collector
    gather_task(service, GatherTask) -> Chunked                          bounded chunks of what was collected
    ingest_task(service, IngestTask) -> IngestionReport                  for each chunk
    tally_task(service, TallyTask) -> list[IngestionReport]              for each collector
    attribute_task(service, AttributeTask) -> Judged
    enrich(service, EVERYTHING, EnrichRequest) -> Enriched               the verdict as an object
    write(host, WriteTask) -> Written                                    the table and the site's sinks
    cleanup_task(service, CleanupTask) -> Cleaned                        after whatever happened from open on
    record(host, RecordTask) -> RunRow                                   kept by RunRows
    summarise(host, SummariseTask) -> RunTotals
"""

from __future__ import annotations

from attribution_blueprint.workflow.collect import CollectTask, collect
from attribution_blueprint.workflow.failure import Failure
from attribution_blueprint.workflow.jobs import (
    Accepted,
    FleetRequest,
    JobRequest,
    Manifest,
    accept_job,
    discover_fleet,
    discover_job,
)
from attribution_blueprint.workflow.record import EndState, RecordTask, record
from attribution_blueprint.workflow.writing import SummariseTask, WriteTask, Written, summarise, write
from attribution_service.enrichment import Enriched, EnrichRequest, enrich
from attribution_service.workflow.evidence import (
    Chunk,
    Chunked,
    CollectorName,
    GatherTask,
    IngestTask,
    TallyTask,
    gather_task,
    ingest_task,
    tally_task,
)
from attribution_service.workflow.sessions import (
    AttributeTask,
    Cleaned,
    CleanupTask,
    Judged,
    Opened,
    OpenStatus,
    OpenTask,
    attribute_task,
    cleanup_task,
    open_task,
)

__all__ = [
    "Accepted",
    "AttributeTask",
    "Chunk",
    "Chunked",
    "Cleaned",
    "CleanupTask",
    "CollectTask",
    "CollectorName",
    "EndState",
    "EnrichRequest",
    "Enriched",
    "Failure",
    "FleetRequest",
    "GatherTask",
    "IngestTask",
    "JobRequest",
    "Judged",
    "Manifest",
    "OpenStatus",
    "OpenTask",
    "Opened",
    "RecordTask",
    "SummariseTask",
    "TallyTask",
    "WriteTask",
    "Written",
    "accept_job",
    "attribute_task",
    "cleanup_task",
    "collect",
    "discover_fleet",
    "discover_job",
    "enrich",
    "gather_task",
    "ingest_task",
    "open_task",
    "record",
    "summarise",
    "tally_task",
    "write",
]
