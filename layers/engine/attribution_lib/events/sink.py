"""What extraction hands its events to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from attribution_lib.events.event import Event
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.events.folder import Latest

__all__ = ["EventSink"]


class EventSink(Protocol):
    """Where events go; see ``events.folder.Folder`` for what ``count`` answers."""

    def add(self, event: Event, key: FoldKey | None = None) -> None:
        """Take one event, with its fold key where that is known."""

    def count(  # noqa: PLR0913, PLR0917 -- an occurrence without its event
        self,
        key: FoldKey,
        timestamp: int | None,
        stream: str,
        line_num: int | None,
        datum: str,
        occurrences: int = 1,
        *,
        declared: bool = False,
    ) -> bool:
        """Count one more occurrence of a known key, as a sample if it is early; False: the event is needed."""

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Let the row of a rule that keeps its last occurrence show this one; False when the event is needed."""
