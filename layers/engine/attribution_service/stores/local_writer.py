"""One SQLite file for threads and processes: reads on pooled connections, writes grouped into shared commits.

Every write is one conditional statement that stands alone. Writers queue; whoever gets the lock runs everything that is
queued in one transaction, so that many threads pay for one sync. A write is acknowledged after its commit only.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, LifoQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

from attribution_service.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["LocalDatabase"]

_WAIT_SECONDS = 30


@dataclass(slots=True)
class _Write:
    statement: str
    values: Sequence[Any]
    changed: int = -1
    """Rows changed, once committed."""
    error: Exception | None = None

    @property
    def done(self) -> bool:
        return self.changed >= 0 or self.error is not None


class LocalDatabase:
    """A database file with write-ahead log and full syncs; ``schema`` is made if it is not there.

    Unless ``durable``, the last writes may be gone once the machine (not the process) crashed; the file stays whole.
    """

    def __init__(self, path: Path, schema: Sequence[str], *, durable: bool = True) -> None:
        self._path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._queue: list[_Write] = []
        self._queue_lock = Lock()
        self._writer_lock = Lock()
        self._all: list[sqlite3.Connection] = []
        with _translated("open"):
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            for statement in schema:
                self._writer.execute(statement)

    def close(self) -> None:
        """Release every connection; the database must not be used afterwards."""
        with self._queue_lock:
            connections, self._all = self._all, []
        for connection in connections:
            connection.close()

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, as of one moment, with everything that was acknowledged before."""
        with self._reader() as connection:
            return connection.execute(query, values).fetchall()

    def write(self, statement: str, values: Sequence[Any]) -> int:
        """How many rows the statement changed; committed when this returns."""
        own = _Write(statement, values)
        with self._queue_lock:
            self._queue.append(own)
        with self._writer_lock:
            if not own.done:
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        if own.error is not None:
            raise StoreError(f"the local database: {own.error}") from own.error
        return own.changed

    def _commit(self, batch: list[_Write]) -> None:
        changed: list[int] = []
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            changed += [self._writer.execute(write.statement, write.values).rowcount for write in batch]
            self._writer.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 -- whatever it is, every writer in the batch has to hear of it
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            for write in batch:
                write.error = error
            return
        for write, count in zip(batch, changed, strict=True):
            write.changed = count

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with _translated("read"):
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = self._connect()
            try:
                yield connection
            finally:
                self._idle.put(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        with self._queue_lock:
            self._all.append(connection)
        return connection


@contextmanager
def _translated(action: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the local database, {action}: {error}") from error
