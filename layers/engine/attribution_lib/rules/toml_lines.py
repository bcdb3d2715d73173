"""Line numbers for the keys of a TOML document; ``tomllib`` gives positions for syntax faults alone.

The text must be valid TOML (``tomllib`` has accepted it). Only what rule files use is mapped: keys of the document,
tables and arrays of tables one level deep, and the elements of an array that is a value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TableLines", "TomlLines", "scan_lines"]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?!")'
    r"|'''.*?'''(?!')"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{},=\n]"
    r"|[^\s\[\]{},=#\"']+",
    re.DOTALL,
)
_OPEN = frozenset("[{")
_CLOSE = frozenset("]}")


@dataclass(slots=True)
class TableLines:
    """Where one table stands: its header, its keys and the elements of its array values (1-based lines)."""

    line: int
    keys: dict[str, int] = field(default_factory=dict)
    items: dict[str, list[int]] = field(default_factory=dict)

    def of(self, key: str = "", index: int | None = None) -> int:
        """The line of a key, or of one element of its array; the header's line for a key that is not there."""
        if index is not None and index < len(self.items.get(key, ())):
            return self.items[key][index]
        return self.keys.get(key, self.line)


@dataclass(slots=True)
class TomlLines:
    """Lines of a whole document: the keys before the first header, and every ``[[table]]`` in order by name."""

    root: TableLines = field(default_factory=lambda: TableLines(1))
    tables: dict[str, list[TableLines]] = field(default_factory=dict)


def scan_lines(text: str) -> TomlLines:
    """Map the keys of a valid TOML document to their lines."""
    lines = TomlLines()
    current = lines.root
    for statement in _statements(text):
        first, line = statement[0]
        if first == "[":
            current = _open_table(statement, line, lines)
        else:
            _note_key(statement, line, current)
    return lines


def _statements(text: str) -> Iterator[list[tuple[str, int]]]:
    """Headers and key/value pairs as tokens with their lines; comments left out."""
    statement: list[tuple[str, int]] = []
    depth, line = 0, 1
    for match in _TOKEN.finditer(text):
        piece = match.group()
        if piece == "\n":
            line += 1
            if depth == 0 and statement:
                yield statement
                statement = []
            continue
        if piece[0] != "#":
            statement.append((piece, line))
            depth += (piece in _OPEN) - (piece in _CLOSE)
        line += piece.count("\n")
    if statement:
        yield statement


def _open_table(statement: list[tuple[str, int]], line: int, lines: TomlLines) -> TableLines:
    name = "".join(piece for piece, _ in statement if piece not in "[]").strip()
    parent, _, child = name.partition(".")
    if child and parent in lines.tables:
        table = lines.tables[parent][-1]
        table.keys.setdefault(_plain(child), line)
        return TableLines(line)
    table = TableLines(line)
    lines.tables.setdefault(_plain(name), []).append(table)
    return table


def _note_key(statement: list[tuple[str, int]], line: int, table: TableLines) -> None:
    tokens = [piece for piece, _ in statement]
    equals = tokens.index("=")
    key = "".join(tokens[:equals])
    table.keys.setdefault(_plain(key), line)
    table.keys.setdefault(_plain(key.split(".", 1)[0]), line)
    if tokens[equals + 1 : equals + 2] == ["["]:
        table.items[_plain(key)] = _element_lines(statement[equals + 1 :])


def _element_lines(value: list[tuple[str, int]]) -> list[int]:
    found: list[int] = []
    depth, fresh = 0, False
    for piece, line in value:
        if fresh and piece not in ",]":
            found.append(line)
            fresh = False
        depth += (piece in _OPEN) - (piece in _CLOSE)
        if depth == 1 and piece in "[,":
            fresh = True
    return found


def _plain(key: str) -> str:
    return key.strip().strip("\"'")
