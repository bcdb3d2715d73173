"""Reading the files of a rules folder: regular files alone, because opening a FIFO or a device may never return."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from attribution_lib.rules.declared import RuleFolder
    from attribution_lib.rules.faults import FaultLog

__all__ = ["read_file", "refuse_unreadable"]

_KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a FIFO"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


def read_file(path: Path) -> bytes:
    """The content of a regular file (or of a link to one); ``OSError`` says what it is instead, without opening it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = next((words for holds, words in _KINDS if holds(mode)), "is no regular file")
        raise OSError(errno.EINVAL, kind, str(path))
    return path.read_bytes()


def refuse_unreadable(folder: RuleFolder, paths: Iterable[Path], faults: FaultLog) -> frozenset[Path]:
    """Those of the paths that cannot be read, each noted as a fault with its address and the reason."""
    refused = set()
    for path in paths:
        try:
            if path.is_file() and os.access(path, os.R_OK):
                continue
            read_file(path)
        except OSError as error:
            link = path.is_symlink() and isinstance(error, FileNotFoundError)
            problem = f"is a link to {path.readlink()}, which does not exist" if link else error.strerror or str(error)
            address = f"{folder.label}/{path.relative_to(folder.path).as_posix()}:1"
            faults.add(address, "", f"cannot be read: {problem}", "a readable file")
            refused.add(path)
    return frozenset(refused)
