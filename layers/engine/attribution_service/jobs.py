"""The job of a session: stored as it came, one immutable object a version, checked whenever it is read or changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import Fault, JobError
from attribution_lib.job.builder import JobInfoBuilder
from attribution_service.errors import InvalidRequestError
from attribution_service.live import keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.job.model import JobInfo
    from attribution_service.records import Session
    from attribution_service.service import Service

__all__ = ["FROZEN", "build_job", "dump_job", "load_job", "merged_job"]

FROZEN = ("job_id", "attempt", "cluster", "scheduler", "nodes", "ranks", "timezone")
"""Once given these cannot change; one that was absent may be added, unless the session's identity came of it."""
_IDENTITY = ("job_id", "attempt", "cluster")


def build_job(service: Service, job: Mapping[str, Any]) -> JobInfo:
    """The checked job; ``InvalidRequestError`` with every fault and its field path."""
    try:
        return JobInfoBuilder.from_mapping(job, names=service.settings.names).build()
    except JobError as error:
        raise InvalidRequestError("the job is not valid", error.faults) from None


def dump_job(job: Mapping[str, Any]) -> bytes:
    """A job as stored."""
    return json.dumps(job, sort_keys=True, separators=(",", ":")).encode()


def load_job(service: Service, session: Session) -> dict[str, Any]:
    """The job of a session as of the version that the session names; ``ObjectMissingError``."""
    fields: dict[str, Any] = json.loads(service.store.objects.get(keys_of(session).job(session.job_ver)))
    return fields


def merged_job(service: Service, old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The old job with what is given now; ``InvalidRequestError`` naming each field that may not change but would."""
    merged = {**old, **{key: value for key, value in given.items() if value is not None}}
    before, after = build_job(service, old), build_job(service, merged)
    faults = [
        Fault(f"job.{field}", "", "cannot change", f"{_shown(getattr(before, field))} as before, or left out")
        for field in FROZEN
        if (field in old or field in _IDENTITY) and getattr(before, field) != getattr(after, field)
    ]
    if faults:
        raise InvalidRequestError("the job is another than the session's", faults)
    return merged


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, int | str) else "the same"
    return text[:100]
