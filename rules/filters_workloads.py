"""Events of a Kubernetes namespace: which of them are about this job's own pods and workloads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import EventType, FilterPriority, filter_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event, FilterContext, JobInfo

_UNKNOWN_ID = re.compile(r"local$|window-|[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE)
"""Ids that no pod's name holds: of evidence without a job, of a time window, and UUIDs."""
_POD = re.compile(r"(?:^|[\s{])[Pp]ods?(?:/|=\"?)(?:[\w-]+/)?([\w.-]+)")
_OF_ITS_SET = re.compile(r"-(?:\d+|[0-9a-z]{5})$")
"""What a controller adds to the name of each pod of one set."""


@filter_def("OtherWorkloads", author="Attribution maintainers", priority=FilterPriority.EARLY + 220)
def other_workloads(context: FilterContext) -> None:
    """Events of other workloads in the same namespace say nothing about this job.

    A name that a rule did not ask for counts only where other events name the job's own pods: then the namespace is
    shared, and the names can be compared.
    """
    job, stream = context.job, context.event_stream
    if not job.job_id or (_UNKNOWN_ID.match(job.job_id) and not job.name):
        return
    events = [event for events in stream.lists(source="scheduler") for event in events]
    told = [(event, names) for event in events if (names := _objects_of(event))]
    shared = any(_is_ours(name, job) for _, names in told for name in names)
    for event, names in told:
        named = shared or event.payload.get("workload")
        if not named or any(_is_ours(name, job) for name in names):
            continue
        if event.event_type == EventType.JOB_STOP:
            stream.discard(event, by="OtherWorkloads")
        else:
            stream.demote(event, by="OtherWorkloads")


def _objects_of(event: Event) -> set[str]:
    """What the event's lines are about: the first pod that each of them names."""
    named = event.payload.get("workload")
    if named:
        return {str(named)}
    lines = {line for line in (event.datum, *(sample.datum for sample in event.samples)) if "od" in line}
    return {found[1] for line in lines if (found := _POD.search(line))}


def _is_ours(workload: str, job: JobInfo) -> bool:
    """Workloads and pods carry the job's id or name with prefixes and suffixes: ``jobset-train-a1b2c``, ``train-0``."""
    own = [name for name in (job.job_id, job.job_id.rpartition("/")[2], job.name) if name]
    return any(name in workload or workload in name or _OF_ITS_SET.sub("", name) in workload for name in own)
