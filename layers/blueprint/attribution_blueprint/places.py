"""Where this machine keeps what must not be lost."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["data_folder"]


def data_folder() -> Path:
    """Default folder of the local service's data: ``$XDG_DATA_HOME/attribution`` or ``~/.local/share/attribution``."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "share") / "attribution"
