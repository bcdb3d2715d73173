"""The local back end: one folder holds everything, for any number of threads and processes on one machine."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.ports import Store
from attribution_service.stores.local_objects import LocalObjects
from attribution_service.stores.local_table import LocalTable, table_schema
from attribution_service.stores.local_uploads import LocalUploads
from attribution_service.stores.local_writer import LocalDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["DATABASE", "LocalBackEnd", "local_store", "open_local"]

DATABASE = "service.db"
"""The SQLite file within the folder."""


@dataclass(frozen=True, slots=True)
class LocalBackEnd:
    """The store of a folder, its upload URLs, and what must be closed."""

    store: Store
    uploads: LocalUploads
    database: LocalDatabase
    tables: tuple[LocalTable, ...]

    def expire(self, now: int) -> int:
        """Drop items and upload URLs past their time (``retention.sweep`` does the rest); how many there were."""
        return self.uploads.sweep() + sum(table.expire(now) for table in self.tables)

    def close(self) -> None:
        """Release the database."""
        self.database.close()


def open_local(
    folder: Path,
    *,
    base_url: str = "http://127.0.0.1:8000",
    clock: Callable[[], float] = time.time,
    durable: bool = True,
) -> LocalBackEnd:
    """Open (or make) the store in ``folder``; ``base_url`` is where the local server can be reached for uploads.

    Unless ``durable``, writes do not wait for the disk: for whoever can do its work again after a power failure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    uploads = LocalUploads(folder, clock, base_url)
    objects = LocalObjects(folder, uploads, durable=durable)
    schema = [*table_schema("sessions"), *table_schema("verdicts")]
    database = LocalDatabase(folder / DATABASE, schema, durable=durable)
    tables = (LocalTable(database, "sessions"), LocalTable(database, "verdicts"))
    return LocalBackEnd(Store(objects, *tables), uploads, database, tables)


@contextmanager
def local_store(folder: Path) -> Iterator[Store]:
    """The store of a folder for as long as the block runs."""
    back_end = open_local(folder)
    try:
        yield back_end.store
    finally:
        back_end.close()
