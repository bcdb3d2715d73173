"""Sessions that nobody seems to need any more: still open long after the job that they were opened for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.model import SessionQuery
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions

if TYPE_CHECKING:
    from attribution_service.service import Service

__all__ = ["count_abandoned"]


def count_abandoned(service: Service, older_than: int) -> int:
    """How many open sessions are older than so many seconds. Each costs storage until it is deleted or expires."""
    count, cursor = 0, None
    while True:
        query = SessionQuery(cursor=cursor, limit=service.settings.limits.page_max)
        page = list_sessions(service, EVERYTHING, query)
        count += sum(session.age_seconds > older_than for session in page.sessions)
        cursor = page.cursor
        if cursor is None:
            return count
