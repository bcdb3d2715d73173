"""The verdict of a session over what is committed now.

The committed batches are the truth. A snapshot and a stored verdict are caches of them: whoever finds one gone or old
goes on from what there is, and two who work at once come to the same bytes.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from attribution_service.errors import NotFoundError, StoreError
from attribution_service.etags import etag_of, matches
from attribution_service.jobs import build_job, load_job
from attribution_service.judging import judge
from attribution_service.leases import release_lease, take_lease
from attribution_service.live import keys_of, live_session, stored_session
from attribution_service.model import Attribution, AttributionStatus
from attribution_service.ports import ObjectMissingError
from attribution_service.records import Batch, batch_sk, session_pk
from attribution_service.retained import retain
from attribution_service.service import EVERYTHING
from attribution_service.workload import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.records import Session
    from attribution_service.service import Caller, Service

__all__ = ["attribute", "attribute_later"]

_TRIES = 20
_SAME_TRIES = 3
_RETRY_AFTER = 5
_SOON = 1
"""Seconds after which to look again while another request does the work in line."""
_SLIGHT = 1_000
"""Work of so few events is done by whoever asks: two who do it at once cost less than agreeing who does."""


def attribute(service: Service, caller: Caller, attributor_id: str, *, if_none_match: str | None = None) -> Attribution:
    """Ready (200), not modified (304; ``if_none_match`` is the header's text) or pending (202); ``NotFoundError``."""
    return _until_whole(service, caller, attributor_id, if_none_match=if_none_match, later=False)


def attribute_later(service: Service, attributor_id: str) -> None:
    """The asynchronous invocation's work: everything ``attribute`` put off; a later ``attribute`` finds it done."""
    session = stored_session(service, attributor_id)
    _until_whole(service, EVERYTHING, attributor_id, if_none_match=None, later=True)
    if session is not None:
        release_lease(service, attributor_id, session.attributing_until)


def _until_whole(
    service: Service, caller: Caller, attributor_id: str, *, if_none_match: str | None, later: bool
) -> Attribution:
    """Start over when an object that the session named is gone: then the session is gone or names a newer one."""
    seen: tuple[str, int, int] | None = None
    same = 0
    for _ in range(_TRIES):
        session = live_session(service, caller, attributor_id)
        state = (session.generation, session.ver, session.job_ver)
        same = same + 1 if state == seen else 0
        seen = state
        try:
            return _once(service, session, if_none_match, later=later)
        except ObjectMissingError as error:
            if same >= _SAME_TRIES:
                raise StoreError(f"session {attributor_id}: its object {error} is not there") from error
    raise StoreError(f"session {attributor_id}: its state was replaced again and again; try once more")


def _once(service: Service, session: Session, if_none_match: str | None, *, later: bool) -> Attribution:
    engine = service.engine()
    items = service.store.sessions.query(session_pk(session.attributor_id), batch_sk(session.generation))
    batches = {batch.observation_id: batch for batch in map(Batch.of, items)}
    etag = etag_of(session, batches.values(), engine.digest)
    if matches(if_none_match, etag):
        return Attribution(AttributionStatus.NOT_MODIFIED, etag)
    if (stored := _stored(service, session, etag)) is not None:
        return stored
    work = partial(_work, service, session, batches, engine, etag)
    if later or service.invoke_later is None:
        return work()
    load, settings = workload(session, batches.values(), engine.digest), service.settings
    if load.spills > settings.inline_spills or load.events > settings.inline_events:
        return _put_off(service, session)
    return work() if load.events <= _SLIGHT else _in_turn(service, session, etag, work)


def _in_turn(service: Service, session: Session, etag: str, work: Callable[[], Attribution]) -> Attribution:
    """Do it in line, unless another request does: then the answer is there soon."""
    lease = take_lease(service, session, service.settings.inline_seconds)
    if lease is None:
        return Attribution(AttributionStatus.PENDING, retry_after=_SOON)
    try:  # whoever held the lease since the verdict was looked for has left it
        return _stored(service, session, etag) or work()
    finally:
        release_lease(service, session.attributor_id, lease)


def _stored(service: Service, session: Session, etag: str) -> Attribution | None:
    """The verdict of this version as it was made before."""
    with suppress(ObjectMissingError):
        stored = service.store.objects.get(keys_of(session).verdict(etag))
        return Attribution(AttributionStatus.READY, etag, stored, cached=True)
    return None


def _store(service: Service, session: Session, etag: str, body: bytes) -> None:
    """Keep the verdict, unless the session was deleted meanwhile: its objects may have been removed before this one."""
    key = keys_of(session).verdict(etag)
    service.store.objects.put(key, body)
    found = stored_session(service, session.attributor_id)
    if found is None or found.generation != session.generation:
        service.store.objects.delete(key)
        raise NotFoundError("the session was deleted meanwhile", attributor_id=session.attributor_id)


def _put_off(service: Service, session: Session) -> Attribution:
    """Have it done elsewhere, unless somebody already does."""
    lease = take_lease(service, session, service.settings.attribute_seconds)
    if lease is not None and service.invoke_later is not None:
        service.invoke_later(session.attributor_id)
    return Attribution(AttributionStatus.PENDING, retry_after=_RETRY_AFTER)


def _work(service: Service, session: Session, batches: dict[str, Batch], engine: RuleEngine, etag: str) -> Attribution:
    job_fields = load_job(service, session)
    job = build_job(service, job_fields)
    started = time.perf_counter()
    judged = judge(service, session, batches, engine, job)
    elapsed = time.perf_counter() - started
    body = judged.verdict.model_dump_json(by_alias=True).encode()
    if judged.whole:
        if service.settings.evidence_days:
            retain(service, session, job_fields, batches.values(), judged.verdict)
        _store(service, session, etag, body)
    return Attribution(AttributionStatus.READY, etag, body, spills_read=judged.spills_read, engine_seconds=elapsed)
