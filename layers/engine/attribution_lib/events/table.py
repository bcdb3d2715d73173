"""The event store of one job: buffered rows, a SQLite database, snapshots and spills.

The table is always the state before filtering. Attribution works on what ``load()`` returns, fresh copies, so the
table itself is the checkpoint that the next ingestion continues from.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

from attribution_lib.bulk import collector_paused
from attribution_lib.errors import StoreClosedError, StoreFormatError
from attribution_lib.events.batches import ObservationRow, digest_of_batch, read_batches, write_batch
from attribution_lib.events.codec import Names
from attribution_lib.events.compaction import Limits, fold_table, rules_of_newest
from attribution_lib.events.database import connect, create_tables, empty_tables, fill_tables, moved_to_disk
from attribution_lib.events.encoding import insert_events
from attribution_lib.events.importing import fold_spill
from attribution_lib.events.lookups import Lookups
from attribution_lib.events.noted import NotedKeys
from attribution_lib.events.refold import refolded_kinds
from attribution_lib.events.schema import EVENT_COLUMNS
from attribution_lib.events.spill import encode_spill, pack_header, split_header
from attribution_lib.events.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from attribution_lib.events.event import Event
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.events.folder import Folder, Latest
    from attribution_lib.events.ordered import EventsByKind
    from attribution_lib.observation import Observation

__all__ = ["EventManager"]

_LOOSE_SHARE = 4  # a snapshot has one unfolded row to so many folded ones: folding all for each batch would cost more
_LOOSE_ON_DISK = 2  # the same of a table in a file that is still being written: there a row costs only room
_COUNT_OVERFLOW = """UPDATE events SET overflow = overflow + ?
    WHERE id = (SELECT id FROM events WHERE source_rule = ? ORDER BY overflow = 0 LIMIT 1)"""
_LIMITS = Limits()
_SELECT = f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"  # noqa: S608 -- our columns


class EventManager:
    """Stores one job's events: ``add`` and ``record_observation`` write, ``load`` reads, ``close`` releases.

    ``path`` None keeps the database in memory; a path is created, or opened again. Events are folded and buffered until
    ``flush`` (or until they are asked for). ``close()`` flushes first; ``close(flush=False)`` and the destructor
    discard what is buffered. Any use after ``close`` raises ``StoreClosedError``. Not for two threads at a time.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        context: str = "",
        rules_digest: str = "",
        limits: Limits = _LIMITS,
    ) -> None:
        self._connection: sqlite3.Connection | None = None
        self._limits = limits
        self._bounds: dict[str, int] = {}
        """{rule: the greatest digest of a key that it may still keep}, for rules that have all the keys they may."""
        self._buffer = self._limits.folder(self._bounds)
        self._in_memory = path is None
        self._connection = connect(path)
        self._folded = self._loose = 0
        self._noted: NotedKeys | None = None
        self._lent: WeakSet[StoredRows] = WeakSet()  # what loaded events read from: all of it, before the rows go
        if path is None:
            self._connection.deserialize(empty_tables())
            fill_tables(self._connection, context, rules_digest)
            self._lookups = Lookups(self._connection, known={"contexts": {context: 1}})
        else:
            create_tables(self._connection, context, rules_digest)
            self._lookups = Lookups(self._connection)
            self._count_rows()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(flush=kind is None)

    def __del__(self) -> None:
        self.close(flush=False)

    def add(self, event: Event, key: FoldKey | None = None) -> None:
        """Fold one event into the store, which owns it from now on; ``key`` where the caller knows its fold key."""
        self._open()
        if self._buffer.add(event, key) >= self._limits.buffered_rows:
            self._make_room()

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
        """Count one more occurrence of a buffered row; False when the event itself is needed (see ``Folder.count``)."""
        return self._buffer.count(key, timestamp, stream, line_num, datum, occurrences, declared=declared)

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Let a buffered row that keeps its last occurrence show this one (see ``Folder.advance``)."""
        return self._buffer.advance(key, event)

    def add_all(self, events: Iterable[Event]) -> None:
        """Fold many events in."""
        for event in events:
            self.add(event)

    def record_observation(
        self, observation: Observation, *, lines: int, size: int, truncated_lines: int = 0, redacted: int | None = None
    ) -> bool:
        """Note a batch whose events were added; False, and nothing noted, when it was noted before."""
        masked = observation.redacted if redacted is None else redacted
        counts = {"lines": lines, "size": size, "truncated_lines": truncated_lines, "redacted": masked}
        return self.record_batch(ObservationRow.of(observation, **counts))

    def record_batch(self, row: ObservationRow) -> bool:
        """``record_observation`` of a row that was made already."""
        return write_batch(self._open(), self._lookups, row)

    def observations(self) -> list[ObservationRow]:
        """The batches noted so far, by id."""
        return read_batches(self._open())

    def known_digest(self, observation_id: str) -> str | None:
        """The digest of a batch noted under this id; None when there is none."""
        return digest_of_batch(self._open(), observation_id)

    def flush(self) -> None:
        """Write buffered events to the table."""
        connection = self._open()
        buffer, self._buffer = self._buffer, self._limits.folder(self._bounds)
        if len(buffer):
            self._append(buffer)
        for rule, count in buffer.unplaced_overflow().items():
            connection.execute(_COUNT_OVERFLOW, (count, self._lookups.id_of("rules", rule)))
            if self._noted is not None:
                self._noted.note_overflow(rule)
        connection.commit()

    def load(self) -> list[Event]:
        """Fresh events, folded; the same content whatever the order in which they came."""
        return [event for events in self.load_kinds().values() for event in events]

    def load_kinds(self) -> EventsByKind:
        """``load``, kind by kind."""
        self.flush()
        if self._loose and self._folded + self._loose > self._limits.keys_per_rule:
            self._fold_in_place()
        if self._noted is not None:
            self._noted.rest()
        with collector_paused():
            self._lent.add(rows := StoredRows(self._open(), Names(self._lookups)))
            kinds = rows.read(self._folded + self._loose)
            folded = not self._loose or (self._noted is not None and self._noted.folded_within(self._limits))
            return kinds if folded else refolded_kinds(kinds, rules_of_newest(self._open(), self._lookups, self._loose))

    def serialize(self) -> bytes:
        """A snapshot: a header line (schema version, rules digest), then the database, a few of its rows unfolded."""
        self.flush()
        if self._loose * _LOOSE_SHARE > self._folded:
            self._fold_in_place()
        return pack_header(self.rules_digest) + b"\n" + self._open().serialize()

    @classmethod
    def deserialize(cls, data: bytes) -> EventManager:
        """A store in memory from a snapshot; ``StoreFormatError`` when it cannot be read."""
        _, body = split_header(data, "snapshot")
        manager = cls()
        try:
            manager._open().deserialize(body)
            manager._lookups.reload()
            manager._count_rows()
        except sqlite3.DatabaseError as error:
            manager.close(flush=False)
            msg = f"snapshot: {error}; ignore it and read the spills again"
            raise StoreFormatError(msg) from error
        return manager

    def export_spill(self) -> bytes:
        """Batches and folded events as gzipped NDJSON with names in place of ids; equal stores give equal bytes."""
        self._fold_in_place()
        return encode_spill(self._open().execute(_SELECT), self.observations(), self._lookups, self.rules_digest)

    def import_spill(self, data: bytes, *, spill_id: str = "") -> bool:
        """Fold a spill's batches and events in; False when ``spill_id`` was imported before.

        They reach the table with the id in the transaction of the next ``flush``. A damaged spill adds nothing.
        """
        connection = self._open()
        if spill_id and connection.execute("SELECT 1 FROM spills WHERE id = ?", (spill_id,)).fetchone():
            return False
        with collector_paused():
            batches = fold_spill(data, self._buffer)
        for batch in batches:
            write_batch(connection, self._lookups, batch)
        if spill_id:
            connection.execute("INSERT INTO spills (id) VALUES (?)", (spill_id,))
        if len(self._buffer) >= self._limits.buffered_rows:
            self._make_room()
        return True

    def spill_ids(self) -> frozenset[str]:
        """Ids of the spills that this store holds."""
        return frozenset(row[0] for row in self._open().execute("SELECT id FROM spills"))

    @property
    def row_count(self) -> int:
        """How many rows the table holds; the smallest number when called after an export, which folds them."""
        self.flush()
        return int(self._folded + self._loose)

    @property
    def rules_digest(self) -> str:
        """The digest of the rules that these events were extracted with."""
        return str(self._open().execute("SELECT rules_digest FROM store").fetchone()[0])

    def close(self, *, flush: bool = True) -> None:
        """Flush (unless told to discard) and release the database; closing twice does nothing."""
        connection = self._connection
        if connection is None:
            return
        try:
            if flush:
                self.flush()
            self._settle()
        finally:
            self._connection, self._noted = None, None
            self._buffer = self._limits.folder(self._bounds)
            connection.close()

    def _settle(self) -> None:
        for rows in self._lent:
            rows.settle()
        self._lent.clear()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            msg = "this event store is closed; make a new one, or use it before close()"
            raise StoreClosedError(msg)
        return self._connection

    def _count_rows(self) -> None:
        query = "SELECT folded_rows, (SELECT count(*) FROM events) FROM store"
        self._folded, rows = self._open().execute(query).fetchone()
        self._loose = rows - self._folded

    def _append(self, buffer: Folder) -> None:
        """Insert rows that are folded among themselves; into an empty table they are the folded state."""
        first = insert_events(self._open(), (rows := buffer.fresh()).values(), self._lookups)
        if self._noted is not None:
            self._noted.note(first, rows.items(), buffer.digests)
            self._bounds |= self._noted.bounds(self._limits.keys_per_place, self._limits.keys_per_rule)
        if self._folded or self._loose:
            self._loose += len(rows)
        else:
            self._note_folded(len(rows))

    def _note_folded(self, rows: int) -> None:
        self._folded, self._loose = rows, 0
        self._open().execute("UPDATE store SET folded_rows = ?", (rows,))

    def _make_room(self) -> None:
        """Write the buffer to the table, which is in a file from then on, and fold that when much of it is loose."""
        if self._in_memory:
            self._in_memory = False
            self._noted = None if self._folded or self._loose else NotedKeys()
            self._settle()
            self._connection = moved_to_disk(self._open())
            self._lookups.move(self._connection)
        self.flush()
        if self._loose > max(self._limits.loose_rows, self._folded // _LOOSE_ON_DISK):
            self._fold_in_place()

    def _fold_in_place(self) -> None:
        """Make the table hold each key once."""
        self.flush()
        if not self._loose:
            return
        self._settle()
        connection = self._open()
        with collector_paused():
            self._bounds |= fold_table(connection, self._lookups, self._limits, self._noted)
        self._note_folded(int(connection.execute("SELECT count(*) FROM events").fetchone()[0]))
        connection.commit()
