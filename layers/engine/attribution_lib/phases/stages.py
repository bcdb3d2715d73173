"""Between which phases somebody may look at the event stream: a walkthrough does, a verdict never depends on it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from attribution_lib.events.stream import EventStream

__all__ = ["Stage", "Watcher", "unwatched"]


class Stage(StrEnum):
    """After which phase."""

    EXTRACTED = "extracted"
    """Placed, on one clock, folded, inside the job's window."""
    FILTERED = "filtered"
    SCRUBBED = "scrubbed"
    """Explained within each node."""
    FINAL = "final"
    """Explained over the whole job."""
    OUTCOME = "outcome"
    """Decided, and what POST_OUTCOME rules made of it."""


Watcher: TypeAlias = Callable[[Stage, "EventStream"], None]
"""Called after each phase with the very stream; it reads and changes nothing."""


def unwatched(_stage: Stage, _stream: EventStream) -> None:
    """Nobody looks."""
