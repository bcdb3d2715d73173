"""Reading a declarative rule file: TOML → declarations with the line of every key."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from attribution_lib.rules.declared import RawRule, RuleFolder
from attribution_lib.rules.model import Location
from attribution_lib.rules.tables import TableReader
from attribution_lib.rules.toml_lines import TableLines, scan_lines

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.faults import FaultLog

__all__ = ["FILE_DEFAULTS", "read_toml"]

FILE_DEFAULTS = ("author", "status", "sources", "version")
"""What a file may say once for all its rules."""
_POSITION = re.compile(r"\(at line (\d+)")


def read_toml(path: Path, folder: RuleFolder, kinds: tuple[str, ...], faults: FaultLog) -> list[RawRule]:
    """The declarations of one file in order; syntax faults and unknown tables are noted."""
    label = f"{folder.label}/{path.name}"
    try:
        text = path.read_bytes().decode()
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        faults.add(Location(label, 1), "", f"is not UTF-8: {error.reason} at byte {error.start}", "UTF-8 text")
        return []
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.search(str(error))
        line = int(found.group(1)) if found else text.count("\n") + 1
        faults.add(Location(label, line), "", f"is not TOML: {error}", "valid TOML")
        return []
    return _declarations(document, text, label, folder, kinds, faults)


def _declarations(  # noqa: PLR0913, PLR0917 -- the parts of one file
    document: dict[str, Any], text: str, label: str, folder: RuleFolder, kinds: tuple[str, ...], faults: FaultLog
) -> list[RawRule]:
    lines = scan_lines(text)
    defaults = {key: document[key] for key in FILE_DEFAULTS if key in document}
    raws = []
    for kind, tables in document.items():
        if kind in FILE_DEFAULTS:
            continue
        if kind not in kinds:
            expected = ", ".join((*FILE_DEFAULTS, *(f"[[{known}]]" for known in kinds)))
            where = lines.tables.get(kind, [lines.root])[0].of(kind)
            faults.add(Location(label, where), kind, "unknown key", f"one of {expected}")
            continue
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            where = lines.tables.get(kind, [lines.root])[0].of(kind)
            faults.add(Location(label, where), kind, "is no array of tables", f"[[{kind}]]")
            continue
        stands = lines.tables.get(kind, [])
        for index, table in enumerate(tables):
            at = stands[index] if index < len(stands) else TableLines(lines.root.of(kind))
            reader = TableReader(kind=kind, values=table, path=label, lines=at, faults=faults, defaults=defaults)
            raws.append(RawRule(reader, folder))
    return raws
