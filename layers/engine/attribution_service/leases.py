"""Who does a long attribution: a time in the session's item until which everybody else waits."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attribution_service.live import stored_session
from attribution_service.ports import ItemChangedError
from attribution_service.records import SESSION_SK, session_pk

if TYPE_CHECKING:
    from attribution_service.records import Session
    from attribution_service.service import Service

__all__ = ["release_lease", "take_lease"]


def take_lease(service: Service, session: Session, seconds: int) -> bool:
    """Whether the work is this caller's for so long: nobody holds the lease, or whoever did let it run out."""
    now = service.now()
    if session.attributing_until > now:
        return False
    expect = {"generation": session.generation, "attributing_until": session.attributing_until}
    changes = {"attributing_until": now + seconds}
    try:
        service.store.sessions.update(session_pk(session.attributor_id), SESSION_SK, changes, expect=expect)
    except ItemChangedError:
        return False
    return True


def release_lease(service: Service, attributor_id: str) -> None:
    """Let go, so that what arrives from now on need not wait for the lease to run out."""
    session = stored_session(service, attributor_id)
    if session is None or not session.attributing_until:
        return
    expect = {"generation": session.generation, "attributing_until": session.attributing_until}
    with suppress(ItemChangedError):
        service.store.sessions.update(session_pk(attributor_id), SESSION_SK, {"attributing_until": 0}, expect=expect)
