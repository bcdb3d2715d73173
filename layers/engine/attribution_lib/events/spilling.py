"""One batch on its way to becoming a spill: folded in memory, and in a database only when it has too many rows.

A service extracts each batch on its own, and most have a few rows: a database for them costs a third of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from attribution_lib.events.batches import ObservationRow
from attribution_lib.events.encoding import Naming, encode_event
from attribution_lib.events.folder import Folder, Latest
from attribution_lib.events.spill import encode_named_spill
from attribution_lib.events.table import EventManager

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from attribution_lib.events.event import Event
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.observation import Observation

__all__ = ["SpillBuilder"]

_ROWS_IN_MEMORY = 20_000


class SpillBuilder:
    """Takes the events of one batch and gives its spill; the bytes are those of ``EventManager.export_spill``.

    A context manager; not for two threads at a time.
    """

    def __init__(self, rules_digest: str, *, rows_in_memory: int = _ROWS_IN_MEMORY) -> None:
        self._rules_digest = rules_digest
        self._limit = rows_in_memory
        self._folder = Folder()
        self._store: EventManager | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close(flush=False)

    def add(self, event: Event, key: FoldKey | None = None) -> None:
        """Fold one event in; it is the builder's from now on. ``key`` where the caller knows its fold key."""
        if self._store is not None:
            self._store.add(event, key)
            return
        self._folder.add(event, key)
        if len(self._folder) > self._limit:
            self._store = EventManager(rules_digest=self._rules_digest)
            self._store.add_all(self._folder.fresh().values())
            self._folder = Folder()

    def add_all(self, events: Iterable[Event]) -> None:
        """Fold many events in."""
        for event in events:
            self.add(event)

    def count(  # noqa: PLR0913, PLR0917 -- what an occurrence is, without its event
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
        """Count one more occurrence of a row in memory; False when the event itself is needed."""
        sink = self._folder if self._store is None else self._store
        return sink.count(key, timestamp, stream, line_num, datum, occurrences, declared=declared)

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Let a row in memory that keeps its last occurrence show this one; False when the event is needed."""
        return (self._folder if self._store is None else self._store).advance(key, event)

    def finish(
        self, observation: Observation, *, lines: int, size: int, truncated_lines: int = 0, redacted: int = 0
    ) -> tuple[bytes, int]:
        """The spill of the batch and how many rows it has; ``size`` in bytes of text."""
        batch = ObservationRow.of(
            observation, lines=lines, size=size, truncated_lines=truncated_lines, redacted=redacted
        )
        if self._store is not None:
            self._store.record_batch(batch)
            return self._store.export_spill(), self._store.row_count
        naming = Naming.themselves()
        rows = [encode_event(event, naming) for event in self._folder.fresh().values()]
        return encode_named_spill(rows, [batch], self._rules_digest), len(rows)
