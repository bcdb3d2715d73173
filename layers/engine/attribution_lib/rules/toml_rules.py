"""Reading a declarative rule file: TOML → declarations with the line of every key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.rules.declared import RawRule
from attribution_lib.rules.files import read_file
from attribution_lib.rules.model import Location
from attribution_lib.rules.tables import TableReader
from attribution_lib.rules.toml_lines import TableLines, TomlLines, scan_lines

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.declared import RuleFolder
    from attribution_lib.rules.faults import FaultLog

__all__ = ["FILE_DEFAULTS", "TomlDocument", "read_document", "read_toml"]

FILE_DEFAULTS = ("author", "status", "sources", "version")
"""What a file may say once for all its rules."""
_POSITION = re.compile(r"\(at line (\d+)")


def read_toml(path: Path, folder: RuleFolder, kinds: tuple[str, ...], faults: FaultLog) -> list[RawRule]:
    """The declarations of one file in order; syntax faults and unknown tables are noted."""
    document = read_document(path, f"{folder.label}/{path.name}", faults)
    if document is None:
        return []
    readers = document.tables(kinds, FILE_DEFAULTS, document.defaults(FILE_DEFAULTS), faults)
    return [RawRule(reader, folder) for reader in readers]


def read_document(path: Path, label: str, faults: FaultLog) -> TomlDocument | None:
    """Parse one file; None (and a fault with its line) when it is not TOML."""
    try:
        text = read_file(path).decode()
        return TomlDocument(label, tomllib.loads(text), scan_lines(text))
    except OSError as error:
        faults.add(Location(label, 1), "", f"cannot be read: {error.strerror or error}", "a readable file")
    except RecursionError:
        faults.add(Location(label, 1), "", "is nested too deeply", "tables of rules")
    except UnicodeDecodeError as error:
        faults.add(Location(label, 1), "", f"is not UTF-8: {error.reason} at byte {error.start}", "UTF-8 text")
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.search(str(error))
        line = int(found.group(1)) if found else text.count("\n") + 1
        faults.add(Location(label, line), "", f"is not TOML: {error}", "valid TOML")
    return None


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """A parsed file with the lines of its keys; ``label`` stands for it in locations."""

    label: str
    values: dict[str, Any]
    lines: TomlLines

    def defaults(self, keys: tuple[str, ...]) -> dict[str, Any]:
        """What the file says once for all its tables."""
        return {key: self.values[key] for key in keys if key in self.values}

    def tables(
        self, kinds: tuple[str, ...], others: tuple[str, ...], defaults: dict[str, Any], faults: FaultLog
    ) -> list[TableReader]:
        """A reader for every table of these kinds, kind by kind; keys beside them and ``others`` are noted."""
        readers = []
        for kind, tables in self.values.items():
            if kind in others:
                continue
            stands = self.lines.tables.get(kind, [])
            at = Location(self.label, stands[0].line if stands else self.lines.root.of(kind))
            if kind not in kinds:
                expected = ", ".join((*others, *(f"[[{known}]]" for known in kinds)))
                faults.add(at, kind, "unknown key", f"one of {expected}")
            elif not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
                faults.add(at, kind, "is no array of tables", f"[[{kind}]]")
            else:
                for index, table in enumerate(tables):
                    lines = stands[index] if index < len(stands) else TableLines(at.line)
                    readers.append(
                        TableReader(
                            kind=kind, values=table, path=self.label, lines=lines, faults=faults, defaults=defaults
                        )
                    )
        return readers
