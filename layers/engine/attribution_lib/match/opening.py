"""Whether a match can begin in the first part of a line: what was found behind one prefix is then found behind another.

A pattern of which every match begins with one of a few literals cannot match from a place where none of them stands.
Where none begins at or before an offset, all that its search finds lies behind the byte at that offset and depends on
the text from there alone (RE2 looks back one byte at most, for a word's boundary).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from attribution_lib.match.literals import openings
from attribution_lib.match.syntax import UnsupportedSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Opening", "opening_of"]

_SHORTEST = 3
"""Bytes; what is shorter stands in most prefixes anyway."""
_FEW = 4


class Opening:
    """The literals with one of which every match of some patterns begins."""

    __slots__ = ("_few", "_longest", "_search")

    def __init__(self, literals: Iterable[bytes], *, caseless: bool = False) -> None:
        found = sorted(literals)
        self._longest = max(map(len, found))
        self._search = re.compile(b"|".join(map(re.escape, found)), re.IGNORECASE if caseless else 0).search
        self._few = found if len(found) <= _FEW and not caseless else []
        """Looked for one by one where that is faster."""

    def lies_behind(self, line: bytes, offset: int) -> bool:
        """Whether no match begins at or before ``offset``."""
        if self._few:
            for literal in self._few:  # noqa: SIM110 -- the hot path: all() of a generator takes twice as long
                if line.find(literal, 0, offset + len(literal)) >= 0:
                    return False
            return True
        found = self._search(line, 0, offset + self._longest)
        return found is None or found.start() > offset


def opening_of(patterns: Iterable[tuple[str, str]]) -> Opening | None:
    """Of all matches of these (pattern, engine); None where one may begin with too many texts, or may look back."""
    literals: set[str] = set()
    for pattern, engine in patterns:
        found = _openings(pattern) if engine == "re2" else frozenset[str]()
        if not found or min(map(len, found)) < _SHORTEST:
            return None
        literals |= found
    folded = {"".join([chr(ord(char) & 0xFF) for char in literal]) for literal in literals}
    caseless = folded != literals
    return Opening((literal.encode("latin-1") for literal in folded), caseless=caseless)


@lru_cache(maxsize=4096)
def _openings(pattern: str) -> frozenset[str]:
    try:
        return openings(parse(pattern))
    except UnsupportedSyntaxError:
        return frozenset()
