"""Open, describe, list, update and delete sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from attribution_service.model import OpenRequest, SessionPage, SessionQuery, SessionView
    from attribution_service.service import Caller, Service

__all__ = ["delete_session", "describe_session", "list_sessions", "open_session", "update_job"]


def open_session(service: Service, caller: Caller, request: OpenRequest, *, opened_by: str = "") -> SessionView:
    """A new session: 201. ``DuplicateSessionError`` when the id is open, unless the same ``opened_by`` opened it."""
    raise NotImplementedError


def describe_session(service: Service, caller: Caller, attributor_id: str) -> SessionView:
    """An open session with its job; ``NotFoundError``."""
    raise NotImplementedError


def list_sessions(service: Service, caller: Caller, query: SessionQuery) -> SessionPage:
    """Open sessions of the caller's clusters, oldest first within a cluster."""
    raise NotImplementedError


def update_job(service: Service, caller: Caller, attributor_id: str, job: Mapping[str, Any]) -> SessionView:
    """Take facts that arrive late; ``InvalidRequestError`` when a field that was given and cannot change would."""
    raise NotImplementedError


def delete_session(service: Service, caller: Caller, attributor_id: str, *, opened_by: str | None = None) -> None:
    """Remove a session and every object of it; with ``opened_by`` only what that opener opened."""
    raise NotImplementedError
