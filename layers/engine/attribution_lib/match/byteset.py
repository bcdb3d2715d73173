"""Sets of bytes: the atoms of a pattern once character classes, escapes and case are resolved."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANY", "CLASS_ESCAPES", "CONTROL_ESCAPES", "POSIX_CLASSES", "ByteSet", "Reading", "of", "span"]

_ALL = (1 << 256) - 1
_LINE_FEED = 1 << 0x0A


@dataclass(frozen=True, slots=True)
class ByteSet:
    """A set of byte values; bit n of ``mask`` says whether byte n is in it."""

    mask: int

    def __or__(self, other: ByteSet) -> ByteSet:
        return ByteSet(self.mask | other.mask)

    def complement(self) -> ByteSet:
        """Every byte that a line can hold and this set does not."""
        return ByteSet(_ALL & ~self.mask & ~_LINE_FEED)

    def within_line(self) -> ByteSet:
        """Without the line feed, which no segment holds."""
        return ByteSet(self.mask & ~_LINE_FEED)

    def values(self) -> list[int]:
        """The members, ascending."""
        members = []
        rest = self.mask
        while rest:
            lowest = rest & -rest
            members.append(lowest.bit_length() - 1)
            rest ^= lowest
        return members

    def caseless(self) -> ByteSet:
        """With the other case of every letter, ASCII or Latin-1."""
        folded = self.mask
        for byte in self.values():
            for other in (chr(byte).lower(), chr(byte).upper()):
                if len(other) == 1 and ord(other) < 256:  # noqa: PLR2004 -- 'ÿ'.upper() is no byte
                    folded |= 1 << ord(other)
        return ByteSet(folded)


@dataclass(frozen=True, slots=True)
class Reading:
    """A class whose meaning differs between engines: what any of them puts into it, and what all of them do."""

    widest: ByteSet
    narrowest: ByteSet

    def complement(self) -> Reading:
        """The negated class."""
        return Reading(self.narrowest.complement(), self.widest.complement())


def of(members: bytes) -> ByteSet:
    """The set of these bytes."""
    mask = 0
    for byte in members:
        mask |= 1 << byte
    return ByteSet(mask)


def span(first: int, last: int) -> ByteSet:
    """The set of all bytes from ``first`` to ``last``, both included."""
    return ByteSet((1 << (last + 1)) - (1 << first) if last >= first else 0)


ANY = ByteSet(_ALL & ~_LINE_FEED)
"""What ``.`` stands for: segments hold no line feed."""

_DIGIT = span(0x30, 0x39)
_UPPER = span(0x41, 0x5A)
_LOWER = span(0x61, 0x7A)
_ALPHA = _UPPER | _LOWER
_WORD = _ALPHA | _DIGIT | of(b"_")
_BLANK = of(b"\t ")
_SPACE = of(b"\t\f\r ")  # RE2; Python and PCRE add the vertical tab


def _exact(members: ByteSet) -> Reading:
    return Reading(members, members)


_WHITESPACE = Reading(_SPACE | of(b"\v"), _SPACE)

CLASS_ESCAPES: dict[str, Reading] = {
    "d": _exact(_DIGIT),
    "D": _exact(_DIGIT).complement(),
    "w": _exact(_WORD),
    "W": _exact(_WORD).complement(),
    "s": _WHITESPACE,
    "S": _WHITESPACE.complement(),
}
"""What ``\\d``, ``\\S`` … stand for."""

CONTROL_ESCAPES: dict[str, int] = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

POSIX_CLASSES: dict[str, ByteSet] = {
    "alnum": _ALPHA | _DIGIT,
    "alpha": _ALPHA,
    "ascii": span(0x00, 0x7F),
    "blank": _BLANK,
    "cntrl": span(0x00, 0x1F) | of(b"\x7f"),
    "digit": _DIGIT,
    "graph": span(0x21, 0x7E),
    "lower": _LOWER,
    "print": span(0x20, 0x7E),
    "punct": span(0x21, 0x2F) | span(0x3A, 0x40) | span(0x5B, 0x60) | span(0x7B, 0x7E),
    "space": _SPACE | of(b"\v"),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": _DIGIT | span(0x41, 0x46) | span(0x61, 0x66),
}
"""What ``[[:alpha:]]`` … stand for (RE2)."""
