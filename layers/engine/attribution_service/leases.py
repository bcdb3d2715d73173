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


def take_lease(service: Service, session: Session, seconds: int) -> int | None:
    """Until when the work is this caller's (seconds since 1970); None while somebody else holds the lease."""
    now = service.now()
    if session.attributing_until > now:
        return None
    expect = {"generation": session.generation, "attributing_until": session.attributing_until}
    until = now + seconds
    try:
        service.store.sessions.update(
            session_pk(session.attributor_id), SESSION_SK, {"attributing_until": until}, expect=expect
        )
    except ItemChangedError:
        return None
    return until


def release_lease(service: Service, attributor_id: str, until: int) -> None:
    """Let go of the lease that runs ``until`` then, so that what arrives need not wait; nobody else's is touched."""
    session = stored_session(service, attributor_id)
    if session is None or not until or session.attributing_until != until:
        return
    expect = {"generation": session.generation, "attributing_until": until}
    with suppress(ItemChangedError):
        service.store.sessions.update(session_pk(attributor_id), SESSION_SK, {"attributing_until": 0}, expect=expect)
