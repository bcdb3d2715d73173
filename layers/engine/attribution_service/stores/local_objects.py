"""Objects as files of a folder: written beside, synced, then linked or moved into place, so that none is ever partial.

Safe for any number of threads and processes on one file system that has hard links.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attribution_service.errors import StoreError
from attribution_service.ports import ObjectExistsError, ObjectInfo, ObjectMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attribution_service.ports import PresignedPut
    from attribution_service.stores.local_uploads import LocalUploads

__all__ = ["LocalObjects"]

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+=-]{0,254}")
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalObjects:
    """An ``ObjectStore`` in ``folder``; ``uploads`` hands out its one-time URLs.

    Unless ``durable``, what was put may be gone, or empty, once the machine (not the process) has crashed.
    """

    def __init__(self, folder: Path, uploads: LocalUploads, *, durable: bool = True) -> None:
        self._sync = _sync if durable else _left_to_the_system
        self._sync_file = os.fsync if durable else _left_to_the_system
        self._root = folder / "objects"
        self._drafts = folder / "drafts"
        self._uploads = uploads
        for path in (self._root, self._drafts):
            path.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:
        """Durable when it returns: content, name and the folders on the way are synced."""
        path = self._path(key)
        draft = self._drafts / uuid.uuid4().hex
        with _translated("put", key):
            try:
                self._write(draft, body)
                self._place(draft, path, if_absent=if_absent)
            except FileExistsError:
                with suppress(FileNotFoundError):
                    self._sync(
                        path.parent
                    )  # whoever was first may not have come to this yet, and the caller builds on it
                raise ObjectExistsError(key) from None
            finally:
                with suppress(FileNotFoundError):
                    draft.unlink()

    def get(self, key: str) -> bytes:
        """The whole body."""
        with _translated("get", key):
            return self._path(key).read_bytes()

    def open(self, key: str) -> BinaryIO:
        """The body as a stream."""
        with _translated("open", key):
            return self._path(key).open("rb")

    def head(self, key: str) -> ObjectInfo:
        """Size without reading."""
        with _translated("head", key):
            path = self._path(key)
            if path.is_dir():
                raise ObjectMissingError(key)
            return ObjectInfo(key, path.stat().st_size)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """By key, as a snapshot: what is removed meanwhile is left out."""
        base = self._root / prefix.rpartition("/")[0]
        found: list[ObjectInfo] = []
        with _translated("list", prefix):
            for folder, _, names in os.walk(base):
                for name in names:
                    path = Path(folder, name)
                    key = path.relative_to(self._root).as_posix()
                    if key.startswith(prefix):
                        with suppress(FileNotFoundError):
                            found.append(ObjectInfo(key, path.stat().st_size))
        yield from sorted(found, key=lambda info: info.key)

    def delete(self, key: str) -> None:
        """Remove the file, and the folders that it leaves empty."""
        path = self._path(key)
        with _translated("delete", key), suppress(*_ABSENT):
            path.unlink()
            for folder in path.parents:
                if folder == self._root:
                    break
                try:
                    folder.rmdir()
                except OSError:  # not empty, or another process was here first
                    break

    def delete_all(self, keys: Iterable[str]) -> int:
        """One after the other."""
        count = 0
        for key in keys:
            self.delete(key)
            count += 1
        return count

    def presign_put(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        """A one-time URL of the local server."""
        self._path(key)
        with _translated("presign", key):
            return self._uploads.issue(key, size=size, sha256=sha256, content_type=content_type, expires_in=expires_in)

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if not all(_PART.fullmatch(part) for part in parts):
            raise StoreError(f"object key {key[:200]!r}: a part of it is no name")
        return self._root.joinpath(*parts)

    def _place(self, draft: Path, path: Path, *, if_absent: bool) -> None:
        """Give the draft its name; the folder may be removed by a delete at any moment, then it is made again."""
        for _ in range(100):
            try:
                self._make_folders(path.parent)
                if if_absent:
                    os.link(draft, path)
                else:
                    draft.replace(path)
            except FileNotFoundError:
                continue
            with suppress(FileNotFoundError):  # it was removed as soon as it was there, and its folder with it
                self._sync(path.parent)
            return
        raise StoreError(f"object {path.name!r}: its folder vanishes again and again; is it being removed?")

    def _write(self, path: Path, body: bytes | BinaryIO) -> None:
        with path.open("xb") as file:
            if isinstance(body, bytes):
                file.write(body)
            else:
                shutil.copyfileobj(body, file, 1 << 20)
            file.flush()
            self._sync_file(file.fileno())

    def _make_folders(self, folder: Path) -> None:
        """Make what is missing on the way down and sync the names of what was made."""
        missing: list[Path] = []
        while folder != self._root and not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            self._sync(path.parent)


def _left_to_the_system(_: object) -> None:
    """Whatever it is reaches the disk when the system comes to it."""


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _translated(action: str, key: str) -> Iterator[None]:
    """The operating system's errors as the port's; nothing of them passes."""
    try:
        yield
    except _ABSENT as error:
        raise ObjectMissingError(key) from error
    except OSError as error:
        raise StoreError(f"{action} {key[:200]!r}: {error.strerror or error}") from error
