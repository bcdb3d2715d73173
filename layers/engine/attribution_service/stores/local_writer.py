"""One SQLite file for threads and processes: reads on pooled connections, writes grouped into shared commits.

Writers queue what they want done; whoever gets the lock does everything that is queued in one transaction, so that many
threads pay for one sync. A write is acknowledged after its commit only.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attribution_service.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["LocalDatabase"]

_WAIT_SECONDS = 30
_VERSION = 0
"""``user_version`` of the files that this version reads and writes."""
_ROOM = "a folder that can be written, on a disk with room"
_ADVICE = {
    sqlite3.SQLITE_BUSY: f"no other program to hold it for {_WAIT_SECONDS} seconds (fuser FILE tells which does)",
    sqlite3.SQLITE_NOTADB: "the database of this service: give another folder, or move the file away",
    sqlite3.SQLITE_CORRUPT: "the database of this service: give another folder, or put a copy of it back",
    sqlite3.SQLITE_FULL: _ROOM,
    sqlite3.SQLITE_IOERR: _ROOM,
    sqlite3.SQLITE_READONLY: _ROOM,
    sqlite3.SQLITE_CANTOPEN: _ROOM,
}
"""{kind of failure: what should be there instead}."""
_Result = TypeVar("_Result")


class _Write(Generic[_Result]):
    """What one thread wants done, and what became of it."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], _Result]) -> None:
        self.work = work
        self.done = False
        self.result: _Result | None = None
        self.error: BaseException | None = None


class LocalDatabase:
    """A database file with write-ahead log and full syncs; ``schema`` is made if it is not there.

    Unless ``durable``, the last writes may be gone once the machine (not the process) crashed; the file stays whole.
    ``step`` is told how far a commit has come ("gathered", "written", "committed"): a drill may end it there.
    """

    def __init__(
        self,
        path: Path,
        schema: Sequence[str],
        *,
        durable: bool = True,
        step: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self._step = step
        self._idle: list[sqlite3.Connection] = []
        self._queue: list[_Write[Any]] = []
        self._queue_lock = Lock()
        self._writer_lock = Lock()
        self._all: list[sqlite3.Connection] = []
        with _translated("open", path):
            self._writer = self._connect()
            _require_ours(self._writer, path)
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
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                return connection.execute(query, values).fetchall()
            finally:
                self._idle.append(connection)
        except sqlite3.Error as error:  # not _translated, which costs as much as the rest: this runs twice a request
            raise _failure("read", self._path, error) from error

    def write(self, statement: str, values: Sequence[Any]) -> int:
        """How many rows the statement changed; committed when this returns."""
        return self.run(lambda connection: connection.execute(statement, values).rowcount)

    def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What ``work`` returns, once what it did is committed, together with what other threads wanted done.

        What it raises comes out here and harms nobody else; each of its statements that worked before stays done.
        """
        own = _Write(work)
        with self._queue_lock:
            self._queue.append(own)
        with self._writer_lock:
            if not own.done:
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        if isinstance(own.error, sqlite3.Error):
            raise _failure("write", self._path, own.error) from own.error
        if own.error is not None:
            raise own.error
        return own.result  # type: ignore[return-value]  # without an error there is one

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """A transaction that nobody else writes in, of any process: for what cannot be undone by the database."""
        with self._writer_lock, _translated("write", self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                self._undo()

    def _commit(self, batch: list[_Write[Any]]) -> None:
        """All or, where the commit itself fails, none of a batch; each learns its own outcome."""
        error: BaseException | None = None
        try:
            self._step("gathered")
            self._writer.execute("BEGIN IMMEDIATE")
            for write in batch:
                self._do(write)
            self._step("written")
            self._writer.execute("COMMIT")
            self._step("committed")
        except BaseException as found:  # noqa: BLE001 -- whatever it is, everyone in the batch has to hear of it
            error = found
            self._undo()
        for write in batch:
            write.error = error or write.error
            write.done = True

    def _do(self, write: _Write[Any]) -> None:
        try:
            write.result = write.work(self._writer)
        except Exception as error:
            if not self._writer.in_transaction:  # SQLite has given up on all of it: a full disk, say
                raise
            write.error = error

    def _undo(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        with self._queue_lock:
            self._all.append(connection)
        return connection


@contextmanager
def _translated(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _failure(action, path, error) from error


def _failure(action: str, path: Path, error: sqlite3.Error) -> StoreError:
    """What failed, and what to do about that kind of failure."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes say more in the bits above
    advice = _ADVICE.get(code)
    return StoreError(f"{action} {path}: {error}" + (f"; expected {advice}" if advice else ""))


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    """``StoreError`` for a file of a later version or of another program: it must not be written to."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version != _VERSION or (tables and "sessions" not in tables):
        found = f"user_version {version}" if version != _VERSION else f"tables {', '.join(sorted(tables)[:3])}"
        msg = f"open {path}: was made by a later version or by another program ({found})"
        raise StoreError(f"{msg}; expected {_ADVICE[sqlite3.SQLITE_NOTADB]}")
