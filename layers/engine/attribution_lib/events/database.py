"""Connections to an event store's database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

from attribution_lib.events.schema import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["connect", "empty_tables"]


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
