"""From the slabs of an observation to its receipt: extract, keep the body where that is wanted, commit."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from attribution_lib.errors import ObservationError, ObservationTooLargeError
from attribution_lib.job.model import JobIdentity, Scheduler
from attribution_service.commit import commit
from attribution_service.errors import InvalidRequestError, TooLargeError
from attribution_service.extraction import extract
from attribution_service.live import keys_of
from attribution_service.ports import ObjectExistsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from attribution_lib.observation import Observation
    from attribution_service.commit import Identity
    from attribution_service.model import Receipt
    from attribution_service.records import Session
    from attribution_service.service import Service

__all__ = ["UPLOAD_ROUTE_HINT", "deliver", "job_identity", "kept_key", "refusals"]

UPLOAD_ROUTE_HINT = "POST /v2/attributor/{id}/observation/upload"
_IN_MEMORY = 8 << 20


def deliver(service: Service, session: Session, identity: Identity, slabs: Iterable[Observation]) -> Receipt:
    """Extract an observation and make it part of the session; see ``commit`` for what it raises."""
    engine = service.engine()
    key = kept_key(service, session, identity)
    if not key:
        extracted = extract(engine, job_identity(session), slabs)
        return commit(service, session, identity, extracted, engine.digest)
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        keep = cast("BinaryIO", spool)
        extracted = extract(engine, job_identity(session), slabs, keep=keep)
        keep.seek(0)
        with suppress(ObjectExistsError):  # the same body, kept by an earlier try
            service.store.objects.put(key, keep, if_absent=True)
    return commit(service, session, replace(identity, raw=key), extracted, engine.digest)


def job_identity(session: Session) -> JobIdentity:
    """What extractors may know of the job: as it was opened, whatever came later."""
    return JobIdentity(session.job_id, session.attempt, session.cluster, Scheduler(session.scheduler))


def kept_key(service: Service, session: Session, identity: Identity) -> str:
    """Where the masked body is kept; empty when it is not."""
    keys = keys_of(session)
    if service.settings.evidence_days:
        prefix = keys.evidence(session.cluster, session.job_id, session.attempt)
        return f"{prefix}{identity.observation_id}-{identity.raw_sha[:16]}"
    return keys.raw(identity.observation_id, identity.raw_sha) if service.settings.keep_raw else ""


@contextmanager
def refusals() -> Iterator[None]:
    """The engine's refusals of an observation as the service's."""
    try:
        yield
    except ObservationTooLargeError as error:
        raise TooLargeError(error.found, limit=error.limit, upload=UPLOAD_ROUTE_HINT) from None
    except ObservationError as error:
        raise InvalidRequestError("the observation is not valid", error.faults) from None
