"""Keeps compiled databases in a folder between processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.kept_files import KeptFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["DatabaseCache", "Kept"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A serialised database and, by index, why some patterns are not in it."""

    database: bytes
    refused: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class DatabaseCache:
    """One database a key in ``directory``; see ``KeptFiles``."""

    directory: Path

    def read(self, key: str) -> Kept | None:
        """What was written under ``key``; None when there is nothing, or nothing intact."""
        content = self._files.read(key)
        if content is None:
            return None
        try:
            header, database = content.split(b"\n", 1)
            return Kept(database, {int(index): str(reason) for index, reason in json.loads(header).items()})
        except (ValueError, AttributeError):
            return None

    def write(self, key: str, kept: Kept) -> None:
        """Keep this under ``key``; a folder that cannot be written to is left alone."""
        self._files.write(key, json.dumps(dict(kept.refused)).encode() + b"\n" + kept.database)

    @property
    def _files(self) -> KeptFiles:
        return KeptFiles(self.directory, ".hsdb", b"attribution matcher database 2")
