"""Small objects as rows of the store's database: with an item in the same transaction, one costs no sync of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.ports import ObjectInfo

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from attribution_service.stores.local_writer import LocalDatabase

__all__ = ["OBJECT_SCHEMA", "ObjectRows"]

OBJECT_SCHEMA = ("CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, body BLOB NOT NULL)",)
_LAST = "\U0010ffff"


class ObjectRows:
    """Reads see what is committed; whatever changes rows takes the connection of a transaction that is under way."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    def get(self, key: str) -> bytes | None:
        """The body; None when there is no such row."""
        rows = self._database.rows("SELECT body FROM objects WHERE key = ?", (key,))
        return bytes(rows[0][0]) if rows else None

    def size(self, key: str) -> int | None:
        """Bytes of the body; None when there is no such row."""
        rows = self._database.rows("SELECT length(body) FROM objects WHERE key = ?", (key,))
        return int(rows[0][0]) if rows else None

    def list(self, prefix: str) -> list[ObjectInfo]:
        """All under a prefix."""
        query = "SELECT key, length(body) FROM objects WHERE key >= ? AND key < ?"
        return [ObjectInfo(key, size) for key, size in self._database.rows(query, (prefix, prefix + _LAST))]

    def has(self, connection: sqlite3.Connection, key: str) -> bool:
        """Whether there is such a row, as of the transaction."""
        return connection.execute("SELECT 1 FROM objects WHERE key = ?", (key,)).fetchone() is not None

    def insert(self, connection: sqlite3.Connection, key: str, body: bytes) -> bool:
        """Add a row unless there is one; whether it was added."""
        statement = "INSERT INTO objects (key, body) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
        return connection.execute(statement, (key, body)).rowcount > 0

    def replace(self, connection: sqlite3.Connection, key: str, body: bytes) -> None:
        """Add a row, or give it this body."""
        statement = "INSERT INTO objects (key, body) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body"
        connection.execute(statement, (key, body))

    def remove(self, connection: sqlite3.Connection, keys: Iterable[str]) -> None:
        """Remove the rows that are there."""
        connection.executemany("DELETE FROM objects WHERE key = ?", ((key,) for key in keys))
