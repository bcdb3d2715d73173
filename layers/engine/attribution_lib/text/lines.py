"""From raw bytes or entries to one buffer of segments that a matcher can scan, without per-line work.

A *line* ends with LF and has a number. A *segment* is what a pattern is searched in: a line, or one of the pieces that
carriage returns cut it into (progress bars); every segment ends with LF in ``TextBuffer.data``. Only what a rule hit is
ever numbered or decoded, so clean text costs a few containment checks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MAX_SEGMENT", "TextBuffer", "from_entries", "normalise", "spelt_out"]

MAX_SEGMENT = 1 << 20
"""A segment is cut after 1 MiB; the rest of it is dropped and counted."""

_PIECE = 2_000
"""Entries joined at a time."""

_Raw: TypeAlias = bytes  # inside TextBuffer the name ``bytes`` means the field

# Possessive throughout and never across a line end: linear on any input, however broken the sequences are.
_ANSI = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*+[ -/]*+[@-~]?+"  # CSI: colours, cursor, erase; also one that was cut off
    rb"|[\]PX^_](?:[^\x07\x1b\r\n]*+(?:\x07|\x1b\\))?+"  # OSC, DCS, SOS, PM, APC: titles, links; unfinished: its start
    rb"|[ -/]++[0-~]"  # charset selection and the like: ESC ( B
    rb"|[78=>\\cM]"  # save, restore, keypad, string end, reset, reverse line feed
    rb")?+"  # a lone or unfinished ESC goes alone
)


_BYTE_ARRAY = re.compile(rb'("MESSAGE"[ \t]?:[ \t]?)\[([ \t]?\d{1,3}(?:[ \t]?,[ \t]?\d{1,3})*+)[ \t]?\]')
"""journalctl -o json writes a message with colours or other unprintable characters as the numbers of its bytes."""
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks, with which editors and shells of other systems begin a file."""


@dataclass(slots=True, eq=False)
class TextBuffer:
    """Normalised evidence of one observation and the address of every byte in it."""

    data: _Raw
    """No ANSI sequence, no NUL, no CR, no byte order mark in front; segments end with LF (the last one may not).

    Invalid UTF-8 is kept as it is.
    """
    first_line: int
    truncated_lines: int
    """How many segments were longer than ``MAX_SEGMENT`` and lost their tail."""
    bytes: int
    """Size of the evidence as it was handed in; for entries the UTF-8 size of their lines without separators."""
    _numbered: _Raw = field(repr=False)
    """As long as ``data``, which it is unless CR or embedded newlines occur: here only real line ends are LF."""
    _cursor: tuple[int, int] = field(default=(0, 0), repr=False)
    """The last (offset, line ends before it) that was counted, so that scans slab by slab stay one pass."""

    @property
    def lines(self) -> int:
        """The number of lines (for entries: of entries), an unfinished last line included; counted on demand."""
        if not self.data:
            return 0
        at, ends = self._cursor
        return ends + self._numbered.count(b"\n", at) + (not self._numbered.endswith(b"\n"))

    def line_numbers(self, offsets: Iterable[int]) -> list[int]:
        """The number of the line (``first_line`` + index of the entry) that each offset of ``data`` lies in.

        Offsets that ascend, within a call and from call to call, cost one pass over the buffer in all.
        """
        return list(map(self.line_number, offsets))

    def line_number(self, offset: int) -> int:
        """The number of the line that one offset lies in."""
        at, ends = self._cursor
        if offset >= at:
            ends += self._numbered.count(b"\n", at, offset)
        else:
            ends -= self._numbered.count(b"\n", offset, at)
        self._cursor = (offset, ends)
        return self.first_line + ends

    def segment(self, offset: int) -> tuple[int, int]:
        """Bounds of the segment around ``offset``, without its line end; an offset of a line end lies before it."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        end = self.data.find(b"\n", offset)
        return start, len(self.data) if end < 0 else end

    def before(self, start: int, count: int) -> list[tuple[int, int]]:
        """Bounds of up to ``count`` segments with text before the one that begins at ``start``, in reading order."""
        found: list[tuple[int, int]] = []
        for _ in range(4 * count):  # CRLF leaves an empty segment after each line; do not walk through miles of them
            if start <= 0 or len(found) == count:
                break
            end = start - 1
            start = self.data.rfind(b"\n", 0, end) + 1
            if end > start:
                found.append((start, end))
        return found[::-1]

    def after(self, end: int, count: int) -> list[tuple[int, int]]:
        """Bounds of up to ``count`` segments with text after the one that ends at ``end``."""
        found: list[tuple[int, int]] = []
        for _ in range(4 * count):
            start = end + 1
            if start >= len(self.data) or len(found) == count:
                break
            end = self.segment(start)[1]
            if end > start:
                found.append((start, end))
        return found

    def decode(self, start: int, end: int) -> str:
        """The text between two offsets, invalid UTF-8 replaced by U+FFFD."""
        return self.data[start:end].decode("utf-8", "replace")


def normalise(raw: bytes, *, first_line: int = 1) -> TextBuffer:
    """The buffer of whole lines of raw text, of which the first has the number ``first_line``."""
    return _buffer(raw, first_line, len(raw))


def from_entries(lines: Sequence[str], *, first_line: int = 1) -> TextBuffer:
    """The buffer of log entries: entry i is line ``first_line`` + i, also where it contains newlines."""
    if not lines:
        return _buffer(b"", first_line, 0)
    raw = _joined(lines)
    separators = len(lines) - 1
    if raw.count(b"\n") != separators:
        # What ends no entry becomes a carriage return: a segment's end that is not counted.
        raw = _joined([line.replace("\n", "\r") for line in lines])
    return _buffer(raw, first_line, len(raw) - separators)


def spelt_out(raw: bytes) -> bytes:
    """``raw`` with messages that a journal wrote as arrays of bytes as the JSON strings they stand for."""
    return _BYTE_ARRAY.sub(_as_string, raw) if b'"MESSAGE"' in raw else raw


def _as_string(found: re.Match[bytes]) -> bytes:
    numbers = list(map(int, found[2].split(b",")))
    if max(numbers) > 255:  # noqa: PLR2004 -- the highest byte
        return found[0]
    text = _ANSI.sub(b"", bytes(numbers).replace(b"\0", b"")).decode("utf-8", "replace")
    return found[1] + json.dumps(text, ensure_ascii=False).encode()


def _joined(lines: Sequence[str]) -> bytes:
    """The lines in UTF-8, piece by piece: memory that is used again is cheaper than fresh memory for a text of all."""
    raw = BytesIO()
    for start in range(0, len(lines), _PIECE):
        text = "\n".join(lines[start : start + _PIECE])
        # JSON may hold a lone surrogate ("\ud83d"); its three bytes are invalid UTF-8 and replaced on decoding.
        raw.write((f"\n{text}" if start else text).encode("utf-8", "surrogatepass"))
    return raw.getvalue()


def _buffer(raw: bytes, first_line: int, size: int) -> TextBuffer:
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    while first_line == 1 and raw.startswith(_MARKS):
        raw = raw[3 if raw.startswith(_MARKS[0]) else 2 :]
    raw = spelt_out(raw)
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    numbered, truncated = _cut(raw)
    data = numbered.replace(b"\r", b"\n") if b"\r" in numbered else numbered
    return TextBuffer(data, first_line, truncated, size, numbered)


def _cut(raw: bytes) -> tuple[bytes, int]:
    """``raw`` without the part of each segment beyond the cap, and the number of segments cut."""
    kept: list[bytes] = []
    copied = position = 0
    while len(raw) - position > MAX_SEGMENT:
        last_end = _last_end(raw, position, position + MAX_SEGMENT + 1)
        if last_end >= 0:
            position = last_end + 1
            continue
        kept.append(raw[copied : position + MAX_SEGMENT])
        copied = position = _next_end(raw, position + MAX_SEGMENT)
    if not kept:
        return raw, 0
    kept.append(raw[copied:])
    return b"".join(kept), len(kept) - 1


def _last_end(raw: bytes, start: int, stop: int) -> int:
    newline = raw.rfind(b"\n", start, stop)
    return newline if newline >= 0 else raw.rfind(b"\r", start, stop)


def _next_end(raw: bytes, start: int) -> int:
    """Where the segment ends that is still open at ``start``: at a CR or LF, or at the end of the text."""
    while start < len(raw):
        stop = start + MAX_SEGMENT
        ends = [end for end in (raw.find(b"\n", start, stop), raw.find(b"\r", start, stop)) if end >= 0]
        if ends:
            return min(ends)
        start = stop
    return len(raw)
