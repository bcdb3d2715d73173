"""What extraction hands its events to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from attribution_lib.events.event import Event, Sample
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.events.folder import Latest

__all__ = ["EventSink"]


class EventSink(Protocol):
    """Where events go; see ``events.folder.Folder`` for what ``bump`` answers."""

    def add(self, event: Event) -> None:
        """Take one event."""

    def bump(  # noqa: PLR0913 -- an occurrence without its event
        self,
        key: FoldKey,
        timestamp: int | None,
        stream: str,
        line_num: int | None,
        occurrences: int = 1,
        *,
        declared: bool = False,
    ) -> bool:
        """Count one more occurrence of a known key; False when the event itself is needed."""

    def sample(self, key: FoldKey, sample: Sample, occurrences: int = 1, *, declared: bool = False) -> bool:
        """Count one more occurrence of a known key and keep it if it is early; False when the event is needed."""

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Let the row of a rule that keeps its last occurrence show this one; False when the event is needed."""
