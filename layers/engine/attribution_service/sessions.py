"""Open, describe, list, update and delete sessions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import Fault
from attribution_lib.fields import ID_FORM, is_identifier
from attribution_service.cleanup import remove_generation
from attribution_service.errors import DuplicateSessionError, InvalidRequestError, NotFoundError, StoreError
from attribution_service.jobs import build_job, dump_job, load_job, merged_job
from attribution_service.live import keys_of, live_session, stored_session
from attribution_service.model import SessionPage, SessionQuery, SessionView
from attribution_service.paging import page_limit, walk
from attribution_service.ports import ItemChangedError, ItemExistsError, ObjectExistsError, ObjectMissingError
from attribution_service.records import CLUSTERS_PK, SESSION_SK, Session, session_pk
from attribution_service.service import EVERYTHING
from attribution_service.times import rfc3339
from attribution_service.ulids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.job.model import JobInfo
    from attribution_service.model import OpenRequest
    from attribution_service.service import Caller, Service

__all__ = [
    "delete_session",
    "describe_session",
    "every_session",
    "list_sessions",
    "open_session",
    "open_sessions_of",
    "update_job",
]

_TRIES = 20


def open_session(service: Service, caller: Caller, request: OpenRequest, *, opened_by: str = "") -> SessionView:
    """A new session: 201. ``DuplicateSessionError`` when the id is open, unless the same ``opened_by`` opened it."""
    job = build_job(service, request.job)
    caller.require(job.cluster)
    session = _new_session(service, request, job, opened_by)
    fields = {**{key: value for key, value in request.job.items() if value is not None}, "job_id": job.job_id}
    service.store.objects.put(keys_of(session).job(0), dump_job(fields))
    with suppress(ItemExistsError):
        service.store.sessions.put({"pk": CLUSTERS_PK, "sk": job.cluster}, if_absent=True)
    try:
        service.store.sessions.put(session.item(), if_absent=True, or_before=("expires_at", session.created + 1))
    except ItemExistsError:
        return _met(service, session, fields)
    return _view(service, session, fields)


def describe_session(service: Service, caller: Caller, attributor_id: str) -> SessionView:
    """An open session with its job; ``NotFoundError``."""
    for _ in range(_TRIES):
        session = live_session(service, caller, attributor_id)
        with suppress(ObjectMissingError):  # it was deleted between the two reads
            return _view(service, session, load_job(service, session))
    raise StoreError(f"session {attributor_id}: the job of its item is not there")


def list_sessions(service: Service, caller: Caller, query: SessionQuery) -> SessionPage:
    """Open sessions of the caller's clusters, oldest first within a cluster."""
    table, now = service.store.sessions, service.now()
    items, cursor = walk(
        callers_clusters(service, caller, query.cluster),
        lambda cluster, inner, limit: table.query_index("open_sessions", cluster, cursor=inner, limit=limit),
        lambda item: int(item["expires_at"]) > now,
        cursor=query.cursor,
        limit=page_limit(query.limit, service.settings.limits),
    )
    return SessionPage(sessions=[_view(service, Session.of(item), None) for item in items], cursor=cursor)


def every_session(service: Service) -> Iterator[SessionView]:
    """Every open session of every cluster; read page by page."""
    cursor = None
    while True:
        query = SessionQuery(cursor=cursor, limit=service.settings.limits.page_max)
        page = list_sessions(service, EVERYTHING, query)
        yield from page.sessions
        cursor = page.cursor
        if cursor is None:
            return


def open_sessions_of(service: Service, caller: Caller, job_id: str) -> list[str]:
    """Ids of sessions on a job of this id, among the oldest open ones of the caller's clusters."""
    page = list_sessions(service, caller, SessionQuery(limit=service.settings.limits.page_max))
    return [view.attributor_id for view in page.sessions if view.job_id == job_id]


def callers_clusters(service: Service, caller: Caller, cluster: str | None) -> list[str]:
    """The clusters to list: the one asked for, else all that are the caller's, sorted."""
    if cluster is not None:
        caller.require(cluster)
        return [cluster]
    if caller.clusters is not None:
        return sorted(caller.clusters)
    return [str(item["sk"]) for item in service.store.sessions.query(CLUSTERS_PK)]


def update_job(service: Service, caller: Caller, attributor_id: str, job: Mapping[str, Any]) -> SessionView:
    """Take facts that arrive late; ``InvalidRequestError`` when a field that was given and cannot change would."""
    for _ in range(_TRIES):
        session = live_session(service, caller, attributor_id)
        try:
            old = load_job(service, session)
        except ObjectMissingError:
            continue
        merged = merged_job(service, old, job)
        if merged == old:
            return _view(service, session, old)
        moved = _store_version(service, session, merged)
        if moved is not None:
            return _view(service, moved, merged)
    raise StoreError(f"session {attributor_id}: its job was changed by others again and again; try once more")


def delete_session(service: Service, caller: Caller, attributor_id: str, *, opened_by: str | None = None) -> None:
    """Remove a session and every object of it; with ``opened_by`` only what that opener opened."""
    session = live_session(service, caller, attributor_id)
    if opened_by is not None and session.opened_by != opened_by:
        raise NotFoundError("this opener has no open session of this id", attributor_id=attributor_id)
    # False: somebody else deleted it (or this very call, sent twice). This generation is gone either way.
    service.store.sessions.delete(session_pk(attributor_id), SESSION_SK, expect={"generation": session.generation})
    with suppress(StoreError):  # the session is gone; objects that stay behind are nobody's, and swept
        remove_generation(service, attributor_id, session.generation)


def _new_session(service: Service, request: OpenRequest, job: JobInfo, opened_by: str) -> Session:
    limits, now = service.settings.limits, service.now()
    ttl = limits.ttl_default if request.ttl_seconds is None else request.ttl_seconds
    attributor_id = request.attributor_id or f"{job.cluster}:{job.job_id}:{job.attempt}"
    faults = []
    if not limits.ttl_min <= ttl <= limits.ttl_max:
        faults.append(Fault("ttl_seconds", "", f"{ttl}", f"{limits.ttl_min} to {limits.ttl_max}"))
    if not is_identifier(attributor_id):
        faults.append(Fault("attributor_id", "", f"{attributor_id[:60]!r} is no id", f"one given that fits {ID_FORM}"))
    elif ":" in attributor_id and not attributor_id.startswith(f"{job.cluster}:"):
        # Else one cluster's users could take the default ids of another's.
        faults.append(Fault("attributor_id", "", "begins with another cluster", f"{job.cluster}:…, or no colon"))
    if faults:
        raise InvalidRequestError("the session cannot be opened", faults)
    return Session(
        attributor_id=attributor_id,
        generation=new_ulid(service.clock()),
        cluster=job.cluster,
        job_id=job.job_id,
        attempt=job.attempt,
        created=now,
        expires_at=now + ttl,
        opened_by=opened_by,
        scheduler=job.scheduler.value,
    )


def _met(service: Service, session: Session, fields: dict[str, Any]) -> SessionView:
    """What it means that the id was taken: by this very call sent twice, by the same opener, or by another."""
    found = stored_session(service, session.attributor_id)
    if found is not None and found.generation == session.generation:
        return _view(service, session, fields)
    service.store.objects.delete(keys_of(session).job(0))
    if found is not None and session.opened_by and found.opened_by == session.opened_by:
        with suppress(ObjectMissingError):
            return _view(service, found, load_job(service, found))
    raise DuplicateSessionError(
        f"session {session.attributor_id} is open; use it, delete it, or give another attributor_id",
        attributor_id=session.attributor_id,
    )


def _store_version(service: Service, session: Session, job: Mapping[str, Any]) -> Session | None:
    """Put the next version and point the session at it; None when the session changed meanwhile."""
    keys, version = keys_of(session), session.job_ver
    body = dump_job(job)
    while True:
        version += 1  # a number that a crashed update left behind is skipped
        try:
            service.store.objects.put(keys.job(version), body, if_absent=True)
        except ObjectExistsError:
            continue
        break
    expect = {"generation": session.generation, "job_ver": session.job_ver}
    try:
        service.store.sessions.update(
            session_pk(session.attributor_id), SESSION_SK, {"job_ver": version}, expect=expect
        )
    except ItemChangedError:
        found = stored_session(service, session.attributor_id)
        if found is not None and (found.generation, found.job_ver) == (session.generation, version):
            return found  # this very write, sent twice
        service.store.objects.delete(keys.job(version))
        return None
    return replace(session, job_ver=version)


def _view(service: Service, session: Session, job: dict[str, Any] | None) -> SessionView:
    return SessionView(
        attributor_id=session.attributor_id,
        cluster=session.cluster,
        job_id=session.job_id,
        attempt=session.attempt,
        created=rfc3339(session.created),
        expires_at=rfc3339(session.expires_at),
        age_seconds=max(service.now() - session.created, 0),
        observations=session.batches,
        events=session.events,
        opened_by=session.opened_by,
        job=job,
    )
