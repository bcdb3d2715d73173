"""Where the keys of a job file stand: the faults of a job, each with its file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rules.toml_lines import scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from attribution_lib.errors import Fault
    from attribution_lib.rules.toml_lines import TomlLines

__all__ = ["located_faults"]

_ADDRESS = re.compile(r"job\.([^.\[]+)(?:\[(\d+)\])?(?:\.(.+))?", re.DOTALL)
"""``job.start``, ``job.ranks[3].rank``, ``job.labels.team``."""


def located_faults(faults: Iterable[Fault], path: Path, text: str) -> str:
    """One line a fault: ``job.toml:3: job.start: …; expected …``. ``text`` is the file's, which is valid TOML."""
    lines = scan_lines(text)
    return "\n".join(f"{path}:{_line(fault.address, lines)}: {fault}" for fault in faults)


def _line(address: str, lines: TomlLines) -> int:
    """The line of the key, or of the nearest thing around it; the first one for a key that is not there."""
    found = _ADDRESS.match(address)
    if found is None:
        return 1
    key, index, inner = found[1], int(found[2] or 0), found[3] or ""
    tables = lines.tables.get(key) or [
        table for name, stands in lines.tables.items() if name.startswith(f"{key}.") for table in stands
    ]
    if not tables:
        return lines.root.of(key, index if found[2] else None)
    return tables[min(index, len(tables) - 1)].of(inner)
