"""Where this machine keeps what can be made again."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Where compiled rule databases are kept: ``$XDG_CACHE_HOME/attribution`` or ``~/.cache/attribution``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "attribution"
