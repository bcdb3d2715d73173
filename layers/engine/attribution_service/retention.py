"""What must not be kept for ever: objects of sessions that are gone, evidence and verdicts past their days.

On AWS the bucket's lifecycle rules and the tables' expiry do most of this; on one machine ``sweep`` does all of it, and
it is safe to run at any time, anywhere, by several at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.cleanup import remove_generation
from attribution_service.live import stored_session
from attribution_service.records import CLUSTERS_PK, SESSION_SK, session_pk
from attribution_service.retained import EVIDENCE
from attribution_service.times import SECONDS_A_DAY, day_of
from attribution_service.ulids import ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.service import Service

__all__ = ["Swept", "sweep"]

_GRACE = 3_600
"""Seconds in which a generation's objects may be there before its session, or after it: calls that are under way."""
_DAYS_BACK = 60
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Swept:
    """How much was removed."""

    sessions: int = 0
    objects: int = 0
    evidence: int = 0
    verdicts: int = 0


def sweep(service: Service) -> Swept:
    """Remove what is due now."""
    sessions = objects = 0
    for attributor_id, generation in _generations(service):
        if _is_over(service, attributor_id, generation):
            sessions += service.store.sessions.delete(
                session_pk(attributor_id), SESSION_SK, expect={"generation": generation}
            )
            objects += remove_generation(service, attributor_id, generation)
    return Swept(sessions, objects, _evidence(service), _verdicts(service))


def _generations(service: Service) -> list[tuple[str, str]]:
    """(id, generation) of everything that has objects."""
    found = set()
    for info in service.store.objects.list("attributors/"):
        parts = info.key.split("/")
        found.add((parts[1], parts[2]))
    return sorted(found)


def _is_over(service: Service, attributor_id: str, generation: str) -> bool:
    """Nobody's objects, for longer than any call takes."""
    now = service.now()
    session = stored_session(service, attributor_id)
    if session is not None and session.generation == generation:
        return session.expires_at + _GRACE < now
    made = ulid_seconds(generation)
    return made is None or made + _GRACE < now


def _evidence(service: Service) -> int:
    """Bodies are as old as their session's generation says."""
    due = service.now() - service.settings.evidence_days * SECONDS_A_DAY - service.settings.limits.ttl_max
    return service.store.objects.delete_all(
        [
            info.key
            for info in service.store.objects.list(EVIDENCE)
            if (ulid_seconds(info.key.split("/")[-2]) or 0) < due
        ]
    )


def _verdicts(service: Service) -> int:
    """Verdicts stored on the days that have just become too old; run daily, this misses none."""
    days = service.settings.verdict_days
    if not days:
        return 0
    removed = 0
    table = service.store.verdicts
    for cluster in [str(item["sk"]) for item in table.query(CLUSTERS_PK)]:
        for back in range(days + 1, days + 1 + _DAYS_BACK):
            key = f"{cluster}#{day_of(service.now() - back * SECONDS_A_DAY)}"
            for pk, sk, blamed in list(_of_day(service, key)):
                for place, name in blamed:
                    table.delete(place, name)
                item = table.get(pk, sk)
                if item is not None and item.get("object"):
                    service.store.objects.delete(str(item["object"]))
                removed += table.delete(pk, sk)
    return removed


def _of_day(service: Service, key: str) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """(pk, sk, the small items of its nodes) of every verdict listed under a cluster's day."""
    cursor = None
    while True:
        page = service.store.verdicts.query_index("by_day", key, cursor=cursor, limit=_PAGE)
        for item in page.items:
            nodes = [
                (f"NODE#{item['cluster']}#{node}", f"{item['job_id']}#{int(item['attempt']):06d}")
                for node in item.get("bad_nodes", [])
            ]
            yield item["pk"], item["sk"], nodes
        cursor = page.cursor
        if cursor is None:
            return
