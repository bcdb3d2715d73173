"""Finds the literal texts of which every match of a pattern holds at least one.

Literals are what Hyperscan is fast at: with them instead of whole patterns, 850 rules are scanned twice as fast and
compiled five times as fast, and the time grows less with their number. Which of a pattern's literals is taken decides
how many lines are proposed in vain: a long one is preferred to a short one, and a telling one to words that every log
is full of.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from attribution_lib.match.byteset import ByteSet
from attribution_lib.match.syntax import Assertion, Choice, Node, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["openings", "telling_literals"]

_Set = frozenset[str]
"""Literals, one character a byte; a letter in either case is its lower case, shifted beyond the bytes."""

_EITHER_CASE = 0x100
_MAX_VARIANTS = 16
"""Spellings that one stretch of a pattern may be multiplied out to."""
_MAX_WORDS = 64
"""Alternatives that one group may list."""
_MAX_CLASS = 4
_MAX_OPTIONAL = 3
_LONG_ENOUGH = 24
"""Characters; a literal is not grown beyond."""
_NOTHING: _Set = frozenset({""})

_USABLE_LENGTH = 8
"""Hyperscan's literal filter looks at eight bytes; shorter ones let more through."""
_USABLE_TELLING = 2
_GOOD_LENGTH = 10
_GOOD_TELLING = 16

_COMMON = re.compile(
    "error|warning|failed|info|loss|iteration|systemd|kernel|slurmstepd|srun|nccl|grad|norm|device|rank|step|epoch"
    "|exception|timeout|process|time|node|job|checkpoint|connect|to |call |from |core|is |not |does |exist|runtime"
    "|output |has |killed|fatal|crash|address|[^a-z]"
)
"""What logs are full of, and what tells nothing; the rest of a literal is what it tells."""


def telling_literals(node: Node) -> list[Node]:
    """The best set of literals, one of which is in every match; empty when none is good enough to scan for alone."""
    best = max(_required(node), key=_value, default=None)
    if best is None or not _usable(best):
        return []
    return [_sequence(literal) for literal in sorted(best)]


def openings(node: Node) -> _Set:
    """Literals with one of which every match begins; an empty one among them where a match may begin otherwise."""
    whole = _spellings(node)
    if whole is not None:
        return whole
    match node:
        case Sequence(items):
            return _opened_sequence(items)
        case Choice(options):
            union = frozenset().union(*map(openings, options))
            return union if len(union) <= _MAX_WORDS else _NOTHING
        case Repeat(item, low, _) if low:
            return openings(item)
        case _:
            return _NOTHING


def _opened_sequence(items: Iterable[Node]) -> _Set:
    stretch = _NOTHING
    for item in items:
        spellings = _spellings(item)
        following = openings(item) if spellings is None else spellings
        if len(stretch) * len(following) > _MAX_WORDS:
            break
        stretch = _joined(stretch, following)
        if spellings is None or max(map(len, stretch)) > _LONG_ENOUGH:
            break
    return stretch


def _sequence(literal: str) -> Node:
    letters = (ByteSet(1 << (code & 0xFF)) for code in map(ord, literal))
    return Sequence(
        tuple(
            letter.caseless() if ord(char) >= _EITHER_CASE else letter
            for char, letter in zip(literal, letters, strict=True)
        )
    )


def _value(literals: _Set) -> tuple[bool, int, int, int, int]:
    length, told = _shortest(literals), _least_told(literals)
    return _usable(literals), min(length, _GOOD_LENGTH), min(told, _GOOD_TELLING), -len(literals), length


def _usable(literals: _Set) -> bool:
    return _shortest(literals) >= _USABLE_LENGTH and _least_told(literals) >= _USABLE_TELLING


def _shortest(literals: _Set) -> int:
    return min(len(literal) for literal in literals)


def _least_told(literals: _Set) -> int:
    return min(_told(literal) for literal in literals)


@lru_cache(maxsize=4096)
def _told(literal: str) -> int:
    text = "".join([chr(ord(char) & 0xFF) for char in literal])
    return len(_COMMON.sub("", text.lower()))


def _required(node: Node) -> Iterator[_Set]:
    """Sets of literals of each of which at least one is in every match."""
    match node:
        case Sequence(items):
            yield from _required_in_sequence(items)
        case Choice(options):
            whole = _spellings(node)
            if whole is not None:
                yield from _unless_empty(whole)
                return
            best = [max(_required(option), key=_value, default=None) for option in options]
            if all(best):
                yield frozenset().union(*(literals for literals in best if literals))
        case Repeat(item, low, _):
            if low:
                yield from _required(item)
        case _:
            yield from _unless_empty(_spellings(node))


def _required_in_sequence(items: Iterable[Node]) -> Iterator[_Set]:
    """Stretches of the sequence that can be spelt out, and what is required within the parts that cannot."""
    stretch = _NOTHING
    for item in items:
        spellings = _spellings(item)
        if spellings is None:
            yield from _unless_empty(stretch)
            yield from _required(item)
            stretch = _NOTHING
        elif len(stretch) * len(spellings) > _MAX_VARIANTS or max(map(len, stretch)) > _LONG_ENOUGH:
            yield from _unless_empty(stretch)
            stretch = spellings
        else:
            stretch = _joined(stretch, spellings)
    yield from _unless_empty(stretch)


def _unless_empty(literals: _Set | None) -> Iterator[_Set]:
    if literals and "" not in literals:
        yield literals


def _spellings(node: Node) -> _Set | None:
    """Every text that ``node`` stands for, if those are few."""
    match node:
        case ByteSet(mask):
            return _letters(mask)
        case Assertion():
            return _NOTHING
        case Sequence(items):
            return _spelt_sequence(items)
        case Choice(options):
            spelt = [_spellings(option) for option in options]
            if None in spelt:
                return None
            union = frozenset().union(*(literals for literals in spelt if literals))
            return union if len(union) <= _MAX_WORDS else None
        case Repeat(item, low, high):
            return None if high is None or high > _MAX_OPTIONAL else _spelt_repeat(item, low, high)


def _spelt_sequence(items: Iterable[Node]) -> _Set | None:
    whole = _NOTHING
    for item in items:
        spellings = _spellings(item)
        if spellings is None or len(whole) * len(spellings) > _MAX_VARIANTS:
            return None
        whole = _joined(whole, spellings)
    return whole


def _spelt_repeat(item: Node, low: int, high: int) -> _Set | None:
    once = _spellings(item)
    if once is None or len(once) ** high > _MAX_VARIANTS:
        return None
    spelt = exactly = _NOTHING if low == 0 else once
    for count in range(2 if low else 1, high + 1):
        exactly = _joined(exactly, once)
        spelt = exactly if count <= low else spelt | exactly
    return spelt


def _joined(left: _Set, right: _Set) -> _Set:
    return frozenset([first + second for first in left for second in right])


@lru_cache(maxsize=1024)
def _letters(mask: int) -> _Set | None:
    """The members of a small class, the two cases of a letter taken together."""
    if not 1 <= mask.bit_count() <= 2 * _MAX_CLASS:
        return None
    letters = set()
    for byte in ByteSet(mask).values():
        either = 1 << byte | 1 << (byte ^ 0x20)
        paired = byte < 0x80 and chr(byte).isalpha() and either & mask == either  # noqa: PLR2004 -- ASCII
        letters.add(chr((byte | 0x20) + _EITHER_CASE) if paired else chr(byte))
    return frozenset(letters) if len(letters) <= _MAX_CLASS else None
