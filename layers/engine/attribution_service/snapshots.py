"""Snapshots: the folded state over some of a session's batches. A cache; losing one costs time, never a batch."""

from __future__ import annotations

import secrets
import zlib
from typing import TYPE_CHECKING

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.table import EventManager
from attribution_service.live import keys_of, stored_session
from attribution_service.ports import ItemChangedError
from attribution_service.records import SESSION_SK, session_pk

if TYPE_CHECKING:
    from attribution_service.records import Session
    from attribution_service.service import Service

__all__ = ["load_snapshot", "publish_snapshot", "snapshot_count"]

_LEVEL = 1


def snapshot_count(session: Session, rules_digest: str) -> int:
    """How many batches the session's snapshot holds under these rules: none when it was made with others."""
    return session.snapshot_n if session.snapshot and session.snapshot_rules == rules_digest else 0


def load_snapshot(service: Service, session: Session, rules_digest: str) -> EventManager:
    """The store that the session's snapshot holds; an empty one where there is none that these rules can go on from.

    Raises ``ObjectMissingError`` when the snapshot was replaced since the session was read.
    """
    if snapshot_count(session, rules_digest):
        data = service.store.objects.get(session.snapshot)
        try:
            events = EventManager.deserialize(zlib.decompress(data))
        except (StoreFormatError, zlib.error):
            return EventManager(rules_digest=rules_digest)
        if events.rules_digest == rules_digest:
            return events
        events.close(flush=False)
    return EventManager(rules_digest=rules_digest)


def publish_snapshot(
    service: Service, session: Session, events: EventManager, rules_digest: str, *, delivered: int
) -> Session | None:
    """Store the state and point the session at it; the session as it is then, or None when another one was faster.

    ``delivered`` is what the receipts of the batches in it counted.
    Whoever loses removes its own snapshot, whoever wins the one that it replaced.
    """
    held = len(events.spill_ids())
    key = keys_of(session).snapshot(held, secrets.token_hex(8))
    service.store.objects.put(key, zlib.compress(events.serialize(), _LEVEL), if_absent=True)
    changes = {
        "ver": session.ver + 1,
        "snapshot": key,
        "snapshot_n": held,
        "snapshot_events": delivered,
        "snapshot_rules": rules_digest,
        "batches": max(held, session.batches),
        "events": events.row_count,
    }
    expect = {"generation": session.generation, "ver": session.ver}
    try:
        service.store.sessions.update(session_pk(session.attributor_id), SESSION_SK, changes, expect=expect)
    except ItemChangedError:
        found = stored_session(service, session.attributor_id)
        if found is None or found.snapshot != key:  # else it is this very write, sent twice
            service.store.objects.delete(key)
            return None
    if session.snapshot:
        service.store.objects.delete(session.snapshot)
    return stored_session(service, session.attributor_id)
