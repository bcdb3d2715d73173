"""Connections to an event store's database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.schema import SCHEMA, SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["connect", "create_tables", "empty_tables", "fill_tables", "moved_to_disk"]

_CACHE_KIB = 8 << 10
_PAGE = 64 << 10
"""Of a store in a file: rows with their context are long, and with the usual pages of 4 KiB a walk over a large table
spends most of its time on reading them one by one. Small stores, whose snapshots are kept, have small pages."""


@cache
def empty_tables() -> bytes:
    """The tables without a row: a service makes one store a batch, and copying them costs a quarter of making them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        return connection.serialize()


def connect(path: Path | str | None) -> sqlite3.Connection:
    """A connection to a file, or to a database in memory. The destructor of a store may run in another thread."""
    connection = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False)
    if path is None:
        connection.execute("PRAGMA journal_mode = MEMORY")
    return connection


def create_tables(connection: sqlite3.Connection, context: str, rules_digest: str) -> None:
    """Make the tables of a new database; one that exists must have this version's tables."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == SCHEMA_VERSION:
        return
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        msg = f"event store: schema version {version}; expected {SCHEMA_VERSION}: start from an empty file"
        raise StoreFormatError(msg)
    connection.executescript(SCHEMA)
    fill_tables(connection, context, rules_digest)


def fill_tables(connection: sqlite3.Connection, context: str, rules_digest: str) -> None:
    """The rows that every store has."""
    connection.execute("INSERT INTO contexts (id, name) VALUES (1, ?)", (context,))
    connection.execute("INSERT INTO store (rules_digest, folded_rows) VALUES (?, 0)", (rules_digest,))
    connection.commit()


def moved_to_disk(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The same content in a temporary file that nobody else sees and that is gone with the connection.

    Where no temporary file can be written, the connection as it is: its rows stay in memory.
    """
    try:
        with TemporaryFile():
            pass
    except OSError:
        return connection
    disk = sqlite3.connect("", check_same_thread=False)
    disk.execute(f"PRAGMA page_size = {_PAGE}")  # before there is a table: a backup would bring the source's pages
    disk.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")  # counted in pages of the size that holds when it is said
    disk.execute("PRAGMA journal_mode = OFF")  # nothing is ever rolled back, and a crash takes the file with it
    disk.executescript(SCHEMA)
    for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        names = [column for (_, column, *_) in connection.execute(f'PRAGMA table_info("{table}")')]
        columns = ", ".join(f'"{name}"' for name in names)
        rows = connection.execute(f"SELECT {columns} FROM {table}")  # noqa: S608 -- our own tables
        values = ", ".join("?" * len(names))
        disk.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", rows)  # noqa: S608 -- likewise
    disk.commit()
    connection.close()
    return disk
