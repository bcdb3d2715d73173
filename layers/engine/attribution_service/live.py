"""Finding the session that a caller means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.fields import is_identifier
from attribution_service.errors import NotFoundError
from attribution_service.records import SESSION_SK, Keys, Session, session_pk

if TYPE_CHECKING:
    from attribution_service.service import Caller, Service

__all__ = ["keys_of", "live_session", "stored_session"]


def live_session(service: Service, caller: Caller, attributor_id: str) -> Session:
    """The open session of this id as it is now (a consistent read).

    ``NotFoundError`` when there is none, when it has expired, and when it is of a cluster that is not the caller's.
    """
    session = stored_session(service, attributor_id) if is_identifier(attributor_id) else None
    if session is None or session.expires_at <= service.now():
        raise NotFoundError("there is no open session of this id", attributor_id=attributor_id[:200])
    caller.require_found(session.cluster, "open session of this id")
    return session


def stored_session(service: Service, attributor_id: str) -> Session | None:
    """The session item whatever its age."""
    item = service.store.sessions.get(session_pk(attributor_id), SESSION_SK)
    return None if item is None else Session.of(item)


def keys_of(session: Session) -> Keys:
    """The object keys of a session's generation."""
    return Keys(session.attributor_id, session.generation)
