"""Where this machine keeps what can be made again."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]

_NOWHERE = Path(os.devnull)
"""Nothing can be kept below a file; the matcher then compiles anew."""


def cache_folder() -> Path:
    """Where checked rules and compiled databases are kept: ``$XDG_CACHE_HOME/attribution`` or ``~/.cache/attribution``.

    A relative ``$XDG_CACHE_HOME`` is ignored, as the XDG specification demands. A user without a home, as containers
    have, gets a folder that cannot be made: never one in a shared place, where others could leave a database for us.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # noqa: PTH117 -- text from the environment, perhaps empty
        return Path(base) / "attribution"
    try:
        return Path.home() / ".cache" / "attribution"
    except RuntimeError:
        return _NOWHERE / "attribution"
