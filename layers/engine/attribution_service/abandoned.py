"""Sessions that nobody seems to need any more: still open long after the job that they were opened for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.sessions import every_session

if TYPE_CHECKING:
    from attribution_service.service import Service

__all__ = ["count_abandoned"]


def count_abandoned(service: Service, older_than: int) -> int:
    """How many open sessions are older than so many seconds. Each costs storage until it is deleted or expires."""
    return sum(session.age_seconds > older_than for session in every_session(service))
