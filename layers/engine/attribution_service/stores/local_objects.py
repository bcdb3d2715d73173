"""Objects of the local store: small ones are rows of its database, others files. Readers see no difference.

A key is one or the other. Both kinds are written under the database's write lock, which every process has to take, so
that a put-if-absent of one kind cannot miss one of the other. Should a crash leave both, the row is the object: a file
beside it was never acknowledged, or is older.
"""

from __future__ import annotations

import io
import os
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from attribution_service.ports import ObjectExistsError, ObjectInfo, ObjectMissingError
from attribution_service.stores.local_files import require_names, translated

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attribution_service.ports import PresignedPut
    from attribution_service.stores.local_files import ObjectFiles
    from attribution_service.stores.local_rows import ObjectRows
    from attribution_service.stores.local_uploads import LocalUploads
    from attribution_service.stores.local_writer import LocalDatabase

__all__ = ["SMALL", "LocalObjects"]

SMALL = 64 << 10
"""The largest object that is a row, in bytes: up to about here SQLite is as fast as a file, without its syncs."""
_TOGETHER = 500
"""Objects removed in one transaction: others wait for it."""
_Found = TypeVar("_Found")


class LocalObjects:
    """An ``ObjectStore``; ``uploads`` hands out its one-time URLs."""

    def __init__(self, database: LocalDatabase, rows: ObjectRows, files: ObjectFiles, uploads: LocalUploads) -> None:
        self._database = database
        self._rows = rows
        self._files = files
        self._uploads = uploads

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:
        """Durable when it returns."""
        require_names(key)
        small = _small(body)
        if small is None:
            self._put_file(key, body, if_absent=if_absent)
        elif if_absent:
            if not self._database.run(lambda connection: self.insert(connection, key, small)):
                raise ObjectExistsError(key)
        else:
            self._database.run(lambda connection: self._rows.replace(connection, key, small))
            self._drop_file_beside_row(key)

    def insert(self, connection: sqlite3.Connection, key: str, body: bytes) -> bool:
        """Put a small object within a transaction unless there is one; whether it was put."""
        return not self._files.has(key) and self._rows.insert(connection, key, body)

    def get(self, key: str) -> bytes:
        """The whole body."""
        return self._found(key, self._rows.get, self._files.get)

    def open(self, key: str) -> BinaryIO:
        """The body as a stream."""
        return self._found(key, self._opened_row, self._files.open)

    def head(self, key: str) -> ObjectInfo:
        """Size without reading."""
        return ObjectInfo(key, self._found(key, self._rows.size, self._files.size))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """By key, as a snapshot: what is removed meanwhile is left out."""
        found = {info.key: info for info in self._files.list(prefix)}
        found.update((info.key, info) for info in self._rows.list(prefix))
        yield from sorted(found.values(), key=lambda info: info.key)

    def delete(self, key: str) -> None:
        """Remove an object of either kind."""
        self.delete_all([key])

    def delete_all(self, keys: Iterable[str]) -> int:
        """Files one after the other, rows many at once."""
        count, rest = 0, iter(keys)
        while block := list(islice(rest, _TOGETHER)):
            for key in block:
                require_names(key)
                self._files.delete(key)  # first: what is left beside a row must not come to light
            self._remove_rows(block)
            count += len(block)
        return count

    def presign_put(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        """A one-time URL of the local server."""
        require_names(key)
        with translated("presign", key):
            return self._uploads.issue(key, size=size, sha256=sha256, content_type=content_type, expires_in=expires_in)

    def _found(self, key: str, row: Callable[[str], _Found | None], file: Callable[[str], _Found]) -> _Found:
        require_names(key)
        found = row(key)
        if found is not None:
            return found
        try:
            return file(key)
        except ObjectMissingError:
            found = row(key)  # a small body may have taken a large one's place between the two looks
            if found is None:
                raise
            return found

    def _opened_row(self, key: str) -> BinaryIO | None:
        body = self._rows.get(key)
        return None if body is None else io.BytesIO(body)

    def _remove_rows(self, keys: Sequence[str]) -> None:
        self._database.run(lambda connection: self._rows.remove(connection, keys))

    def _put_file(self, key: str, body: bytes | BinaryIO, *, if_absent: bool) -> None:
        with self._files.draft(key, body) as draft, self._database.alone() as connection:
            if if_absent and self._rows.has(connection, key):
                raise ObjectExistsError(key)
            self._files.place(draft, key, if_absent=if_absent)
            self._rows.remove(connection, [key])

    def _drop_file_beside_row(self, key: str) -> None:
        """After a small body has taken a large one's place; unless a large one has come back meanwhile."""
        if self._files.has(key):
            with self._database.alone() as connection:
                if self._rows.has(connection, key):
                    self._files.delete(key)


def _small(body: bytes | BinaryIO) -> bytes | None:
    """The body if it is small; of a file only what is needed to know is read, and its position kept if it is large."""
    if isinstance(body, bytes):
        return body if len(body) <= SMALL else None
    start = body.tell()
    found = body.read(SMALL + 1)
    if len(found) <= SMALL:
        return found
    body.seek(start, os.SEEK_SET)
    return None
