"""The local back end: one folder holds everything, for any number of threads and processes on one machine."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.ports import ItemExistsError, Store
from attribution_service.stores.local_files import ObjectFiles, require_names
from attribution_service.stores.local_objects import SMALL, LocalObjects
from attribution_service.stores.local_rows import OBJECT_SCHEMA, ObjectRows
from attribution_service.stores.local_table import LocalTable, table_schema
from attribution_service.stores.local_uploads import LocalUploads
from attribution_service.stores.local_writer import LocalDatabase

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attribution_service.ports import Item

__all__ = ["DATABASE", "LocalBackEnd", "local_store", "open_local"]

DATABASE = "service.db"
"""The SQLite file within the folder."""


@dataclass(frozen=True, slots=True)
class LocalStore(Store):
    """The store of a folder, which commits a batch with one sync."""

    objects: LocalObjects
    sessions: LocalTable
    verdicts: LocalTable
    database: LocalDatabase

    def require_writable(self) -> None:
        """Write something."""
        self.sessions.put({"pk": "HEALTH", "sk": "HEALTH"})

    def put_batch(self, spill: str, body: bytes, item: Item) -> None:
        """Both in one transaction, where the spill is small."""
        if len(body) > SMALL:
            return Store.put_batch(self, spill, body, item)
        require_names(spill)
        statement, values = self.sessions.insertion(item)

        def both(connection: sqlite3.Connection) -> int:
            self.objects.insert(connection, spill, body)
            return connection.execute(statement, values).rowcount

        if self.database.run(both) == 0:
            raise ItemExistsError(item["sk"])
        return None


@dataclass(frozen=True, slots=True)
class LocalBackEnd:
    """The store of a folder, its upload URLs, and what must be closed."""

    store: LocalStore
    uploads: LocalUploads

    @property
    def database(self) -> LocalDatabase:
        """The database within the folder."""
        return self.store.database

    def expire(self, now: int) -> int:
        """Drop items and upload URLs past their time (``retention.sweep`` does the rest); how many there were."""
        return self.uploads.sweep() + self.store.sessions.expire(now) + self.store.verdicts.expire(now)

    def close(self) -> None:
        """Release the database."""
        self.database.close()


def open_local(
    folder: Path,
    *,
    base_url: str = "http://127.0.0.1:8000",
    clock: Callable[[], float] = time.time,
    durable: bool = True,
    step: Callable[[str], None] = lambda _: None,
) -> LocalBackEnd:
    """Open (or make) the store in ``folder``; ``base_url`` is where the local server can be reached for uploads.

    Unless ``durable``, writes do not wait for the disk: for whoever can do its work again after a power failure.
    ``step`` see ``LocalDatabase``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    schema = [*table_schema("sessions"), *table_schema("verdicts"), *OBJECT_SCHEMA]
    database = LocalDatabase(folder / DATABASE, schema, durable=durable, step=step)
    uploads = LocalUploads(folder, clock, base_url)
    objects = LocalObjects(database, ObjectRows(database), ObjectFiles(folder, durable=durable), uploads)
    store = LocalStore(objects, LocalTable(database, "sessions"), LocalTable(database, "verdicts"), database)
    return LocalBackEnd(store, uploads)


@contextmanager
def local_store(folder: Path) -> Iterator[Store]:
    """The store of a folder for as long as the block runs."""
    back_end = open_local(folder)
    try:
        yield back_end.store
    finally:
        back_end.close()
