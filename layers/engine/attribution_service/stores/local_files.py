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
    from collections.abc import Iterator

__all__ = ["ObjectFiles"]

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+=-]{0,254}")
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class ObjectFiles:
    """Large objects, one file each, below ``folder``.

    Unless ``durable``, what was put may be gone, or empty, once the machine (not the process) has crashed.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._sync = _sync if durable else _left_to_the_system
        self._sync_file = os.fsync if durable else _left_to_the_system
        self._root = folder / "objects"
        self._drafts = folder / "drafts"
        for path in (self._root, self._drafts):
            path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def draft(self, key: str, body: bytes | BinaryIO) -> Iterator[Path]:
        """A synced copy of the body, for ``place``; it is gone afterwards."""
        path = self._drafts / uuid.uuid4().hex
        try:
            with translated("put", key):
                self._write(path, body)
            yield path
        finally:
            with suppress(FileNotFoundError):
                path.unlink()

    def place(self, draft: Path, key: str, *, if_absent: bool) -> None:
        """Make the draft the object; durable when it returns: content, name and the folders on the way are synced."""
        path = self._path(key)
        with translated("put", key):
            try:
                self._place(draft, path, if_absent=if_absent)
            except FileExistsError:
                # Whoever was first may not have come to this yet, and the caller builds on it.
                with suppress(FileNotFoundError):
                    self._sync(path.parent)
                raise ObjectExistsError(key) from None

    def has(self, key: str) -> bool:
        """Whether there is such a file."""
        return os.path.isfile(f"{self._root}/{key}")  # noqa: PTH113 -- once a request: a Path costs more than the call

    def get(self, key: str) -> bytes:
        """The whole body; ``ObjectMissingError``."""
        with translated("get", key):
            return self._path(key).read_bytes()

    def open(self, key: str) -> BinaryIO:
        """The body as a stream; ``ObjectMissingError``."""
        with translated("open", key):
            return self._path(key).open("rb")

    def size(self, key: str) -> int:
        """Size without reading; ``ObjectMissingError``."""
        with translated("head", key):
            path = self._path(key)
            if path.is_dir():
                raise ObjectMissingError(key)
            return path.stat().st_size

    def list(self, prefix: str) -> list[ObjectInfo]:
        """All under a prefix; what is removed meanwhile is left out."""
        base = self._root / prefix.rpartition("/")[0]
        found: list[ObjectInfo] = []
        with translated("list", prefix):
            for folder, _, names in os.walk(base):
                for name in names:
                    path = Path(folder, name)
                    key = path.relative_to(self._root).as_posix()
                    if key.startswith(prefix):
                        with suppress(FileNotFoundError):
                            found.append(ObjectInfo(key, path.stat().st_size))
        return found

    def delete(self, key: str) -> None:
        """Remove the file if there is one, and the folders that it leaves empty."""
        path = self._path(key)
        with translated("delete", key), suppress(*_ABSENT):
            path.unlink()
            for folder in path.parents:
                if folder == self._root:
                    break
                try:
                    folder.rmdir()
                except OSError:  # not empty, or another process was here first
                    break

    def _path(self, key: str) -> Path:
        return self._root.joinpath(*key.split("/"))

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


def require_names(key: str) -> None:
    """``StoreError`` for a key that could not be a path below the folder."""
    if not all(_PART.fullmatch(part) for part in key.split("/")):
        raise StoreError(f"object key {key[:200]!r}: a part of it is no name")


def _left_to_the_system(_: object) -> None:
    """Whatever it is reaches the disk when the system comes to it."""


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def translated(action: str, key: str) -> Iterator[None]:
    """The operating system's errors as the port's; nothing of them passes."""
    try:
        yield
    except _ABSENT as error:
        raise ObjectMissingError(key) from error
    except OSError as error:
        raise StoreError(f"{action} {key[:200]!r}: {error.strerror or error}") from error
