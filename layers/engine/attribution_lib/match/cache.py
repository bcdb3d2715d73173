"""Keeps compiled databases in a folder between processes. Whatever goes wrong here only costs a compilation."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["DatabaseCache", "Kept"]

_MAGIC = b"attribution matcher database 1"
_SUFFIX = ".hsdb"
_MAX_FILES = 32
"""Every change of the rules makes new files; the oldest beyond these are removed."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A serialised database and, by index, why some patterns are not in it."""

    database: bytes
    refused: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class DatabaseCache:
    """One file a key in ``directory``, written atomically and checked when read."""

    directory: Path

    def read(self, key: str) -> Kept | None:
        """What was written under ``key``; None when there is nothing, or nothing intact."""
        try:
            magic, checksum, header, database = self._path(key).read_bytes().split(b"\n", 3)
            if magic != _MAGIC or checksum.decode() != _checksum(key, header, database):
                return None
            return Kept(database, {int(index): str(reason) for index, reason in json.loads(header).items()})
        except (OSError, ValueError, AttributeError):
            return None

    def write(self, key: str, kept: Kept) -> None:
        """Keep this under ``key``; a folder that cannot be written to is left alone."""
        header = json.dumps(dict(kept.refused)).encode()
        content = b"\n".join((_MAGIC, _checksum(key, header, kept.database).encode(), header, kept.database))
        with suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.directory, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(name, self._path(key))  # noqa: PTH105 -- a name from mkstemp, not a Path
            except OSError:
                os.unlink(name)  # noqa: PTH108 -- likewise
                raise
            self._prune()

    def _prune(self) -> None:
        files = sorted(self.directory.glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-_MAX_FILES]:
            file.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"


def _checksum(key: str, header: bytes, database: bytes) -> str:
    return sha256(b"\0".join((key.encode(), header, database))).hexdigest()
