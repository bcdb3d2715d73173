"""The fast way from a body of log entries to columns: decoded piece by piece into typed entries, without dicts.

A piece's entries are gone before the next one's are made: memory that is used again, while it is still in the
processor's cache, is much cheaper than fresh memory for all of them.

It takes only what it understands completely and answers None or False for everything else; the general reader then
does the work again and says what is wrong, so both ways accept the same bodies and give the same columns and digests.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, DecodeError, Struct, UnsetType, ValidationError
from msgspec.json import Decoder, Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["TypedEntries", "read_typed_body", "read_typed_lines"]


class _Entry(Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One log entry; fields in the order of the canonical form, absent ones apart from null ones."""

    line: str
    node: str | UnsetType | None = UNSET
    rank: int | UnsetType | None = UNSET
    ts: str | UnsetType | None = UNSET


class _Body(Struct, forbid_unknown_fields=True):
    """A body whose entries were taken out; the fields beside them are checked by the header reader."""

    entry_timeseries: tuple[()]
    observation_id: Any = UNSET
    source: Any = UNSET
    format: Any = UNSET
    stream: Any = UNSET
    first_line: Any = UNSET
    start: Any = UNSET
    end: Any = UNSET
    node: Any = UNSET
    rank: Any = UNSET


_PIECE = 1 << 18
"""Bytes decoded at a time; a larger entry is a piece of its own."""
_BRACKETS = 8
_HEADER = tuple(name for name in _Body.__struct_fields__ if name != "entry_timeseries")
# Immutable and free of state between calls; a decoder is built from its type once.
_BODY, _LIST, _LINES, _ENCODER = Decoder(_Body), Decoder(list[_Entry]), Decoder(_Entry), Encoder()
_GAP = rb"[ \t\r\n]*+"
# Quotes within a string are escaped, so neither of these can lie in one.
_ENTRIES = re.compile(rb'"entry_timeseries"' + _GAP + rb":" + _GAP + rb"\[")
_BARE_LINE = re.compile(_GAP + rb'"')
_BETWEEN = re.compile(rb"\}" + _GAP + rb"(,)" + _GAP + rb"\{" + _GAP + rb'"(?:line|node|rank|ts)"')
_REFUSED = (DecodeError, ValidationError, UnicodeDecodeError, RecursionError)


@dataclass(slots=True)
class TypedEntries:
    """Log entries that are still to be decoded; once ``read``, their keys and types are right, not yet their values."""

    _pieces: Iterable[bytes]
    _decode: Callable[[bytes], list[_Entry]]
    _lines: list[str] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=lambda: {"node": [], "rank": [], "ts": []})
    _distinct: dict[str, set[Any]] = field(default_factory=lambda: {"node": set(), "rank": set(), "ts": set()})

    def __len__(self) -> int:
        return len(self._lines)

    def read(self, digest: Callable[[bytes | bytearray], object]) -> bool:
        """Decode all; False when an entry is anything but a plain log entry.

        ``digest`` is given the RFC 8785 form of the list in parts that join to it; each is overwritten by the next.
        """
        part = bytearray()
        try:
            for piece in self._pieces:
                entries = self._decode(piece)
                if entries:
                    _ENCODER.encode_into(entries, part)
                    part[:1] = b"," if self._lines else b"["
                    del part[-1:]
                    digest(part)
                    self._take(entries)
        except _REFUSED:
            return False
        digest(b"]" if self._lines else b"[]")
        return True

    def by_key(self) -> tuple[dict[str, Sequence[Any]], dict[str, set[Any]]]:
        """One column a key, None where an entry lacks it, and the distinct values of each but the lines'.

        Keys that no entry carries are left out.
        """
        carried = [key for key, values in self._distinct.items() if values != {UNSET}]
        distinct = {key: self._distinct[key] - {UNSET} for key in carried}
        return {"line": self._lines, **{key: self._columns[key] for key in carried}}, distinct

    def _take(self, entries: list[_Entry]) -> None:
        # Spelt out: an attribute's name that the interpreter can see costs half of one that is looked up.
        self._lines += [entry.line for entry in entries]
        self._extend("node", [entry.node for entry in entries])
        self._extend("rank", [entry.rank for entry in entries])
        self._extend("ts", [entry.ts for entry in entries])

    def _extend(self, key: str, column: list[Any]) -> None:
        values = set(column)
        if UNSET in values:
            column = [None] * len(column) if len(values) == 1 else [None if x is UNSET else x for x in column]
        self._columns[key] += column
        self._distinct[key] |= values


def read_typed_body(data: bytes, *, piece: int = _PIECE) -> tuple[dict[str, Any], TypedEntries] | None:
    """Header fields of a JSON body, and its entries; None when it holds anything but plain log entries."""
    found = _ENTRIES.search(data)
    if found is None or _BARE_LINE.match(data, found.end()):
        return None
    start = found.end()
    for end in _last_brackets(data, start):
        # Is this not the list's end, then what is taken for the header or for an entry is no JSON.
        with suppress(*_REFUSED):
            body = _BODY.decode(data[:start] + data[end:])
            fields = {name: value for name in _HEADER if (value := getattr(body, name)) is not UNSET}
            return fields, TypedEntries(_lists(data, start, end, piece), _LIST.decode)
    return None


def read_typed_lines(data: bytes, *, piece: int = _PIECE) -> TypedEntries:
    """The entries of NDJSON, one a line."""
    return TypedEntries(_whole_lines(data, piece), _LINES.decode_lines)


def _last_brackets(data: bytes, start: int) -> Iterator[int]:
    """Where the list may end, the likeliest first: what follows it holds few brackets of its own."""
    end = len(data)
    for _ in range(_BRACKETS):
        end = data.rfind(b"]", start, end)
        if end < 0:
            return
        yield end


def _lists(data: bytes, start: int, end: int, piece: int) -> Iterator[bytes]:
    """The list of entries between two offsets as shorter lists."""
    while end - start > piece:
        found = _BETWEEN.search(data, start + piece, end)
        if found is None:
            break
        yield b"[%b]" % data[start : found.start(1)]
        start = found.end(1)
    yield b"[%b]" % data[start:end]


def _whole_lines(data: bytes, piece: int) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + piece) + 1 or len(data)
        yield data[start:end]
        start = end
