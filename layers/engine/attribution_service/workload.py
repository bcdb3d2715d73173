"""How much an attribution has to do, told from receipts before anything is read; its unit is one new event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.snapshots import snapshot_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_service.records import Batch, Session

__all__ = ["Workload", "workload"]

_SPILL = 10
"""Fetching and opening a spill costs what so many of its events do."""
_ROWS = 3
"""So many rows that were folded before cost what one new event does: phases run over them again."""
_BYTES = 5_000
"""So many bytes of a body that other rules must read again cost what one event does."""


@dataclass(frozen=True, slots=True)
class Workload:
    """An estimate: receipts count the events of each batch, the session those that its snapshot holds."""

    spills: int
    """Not in the snapshot yet."""
    events: int


def workload(session: Session, batches: Iterable[Batch], rules_digest: str) -> Workload:
    """What a verdict over these batches costs beyond what the session's snapshot saves."""
    known = list(batches)
    held = snapshot_count(session, rules_digest)
    spills = max(0, len(known) - held)
    delivered = sum(batch.events for batch in known) - (session.snapshot_events if held else 0)
    again = 0 if held else sum(batch.bytes for batch in known if batch.raw and batch.rules_digest != rules_digest)
    rows = session.events if held else 0
    return Workload(spills, spills * _SPILL + max(0, delivered) + rows // _ROWS + again // _BYTES)
