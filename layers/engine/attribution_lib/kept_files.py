"""Keeps in a folder, between processes, what can be made again. Whatever goes wrong here only costs the making."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KeptFiles"]


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """One file a key in ``directory``, written atomically and checked when read.

    ``kind`` is the first line of each file: whoever changes what the files hold changes it. ``most`` bounds how many
    there are: every change of the rules makes new ones, and the oldest are removed.
    """

    directory: Path
    suffix: str
    kind: bytes
    most: int = 32

    def read(self, key: str) -> bytes | None:
        """What was written under ``key``; None when there is nothing, or nothing intact."""
        try:
            kind, checksum, content = self._path(key).read_bytes().split(b"\n", 2)
        except (OSError, ValueError):
            return None
        return content if kind == self.kind and checksum == _checksum(key, content) else None

    def write(self, key: str, content: bytes) -> None:
        """Keep this under ``key``; a folder that cannot be written to is left alone."""
        import tempfile  # noqa: PLC0415 -- a start that finds everything kept need not load it

        with suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.directory, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(b"\n".join((self.kind, _checksum(key, content), content)))
                os.replace(name, self._path(key))  # noqa: PTH105 -- a name from mkstemp, not a Path
            except OSError:
                os.unlink(name)  # noqa: PTH108 -- likewise
                raise
            self._prune()

    def _prune(self) -> None:
        files = sorted(self.directory.glob(f"*{self.suffix}"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[: -self.most]:
            file.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{self.suffix}"


def _checksum(key: str, content: bytes) -> bytes:
    return sha256(b"\0".join((key.encode(), content))).hexdigest().encode()
