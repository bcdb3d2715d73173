"""One pattern: the wider form that the accelerator scans for, and the confirmation that alone decides on a line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import re2

from attribution_lib.errors import MatcherError
from attribution_lib.match.syntax import UnsupportedSyntaxError, parse
from attribution_lib.match.widen import may_be_empty, render, widen

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Confirm", "compile_confirm", "superset"]

_BEFORE = 8 << 10
_AFTER = 16 << 10
_MAX_CAPTURE = 8 << 10
_MEMORY = ((0, 256 << 10), (300, 1 << 20), (1_000, 2 << 20))
"""(instructions, bytes): what RE2 may keep its states in. Hostile text could fill that of every pattern at once, but
with room for fewer than some ten states RE2 falls back to a way that takes hundreds of times as long."""
_LARGE_MEMORY = 8 << 20
"""For a pattern that does not compile in less."""

_Spans = list[tuple[int, int]]
_MISSING = (-1, -1)


class Confirm(Protocol):
    """What a pattern says about one segment (a line without its line end)."""

    def search(self, segment: bytes, hit_end: int) -> dict[str, str] | None:
        """The named groups that took part, decoded; None when the pattern does not match.

        On a segment of more than 24 KiB the 8 KiB before ``hit_end`` (where the accelerator saw the hit end) and the
        16 KiB after it are tried first, then everything. A captured text is cut to 8 KiB.
        """
        ...

    def find(self, segment: bytes) -> tuple[int, int] | None:
        """Where in the segment the first match lies; None when there is none."""
        ...


@lru_cache(maxsize=4096)
def superset(match_re: str, engine: str = "re2") -> str:
    """A pattern for the accelerator that is found in every line in which ``match_re`` is found.

    Raises ``UnsupportedSyntaxError`` where none can be derived, or where it would be found in every line.
    """
    wide = widen(parse(match_re, engine))
    if may_be_empty(wide):
        message = "it requires nothing that can be looked for"
        raise UnsupportedSyntaxError(message)
    return render(wide)


def compile_confirm(match_re: str, engine: str = "re2") -> Confirm:
    """The confirmation of a pattern over bytes, by ``re2`` or ``re``; ``MatcherError`` if it does not compile."""
    try:
        return _BacktrackingConfirm(match_re) if engine == "re" else _LinearConfirm(match_re)
    except (re.error, re2.error) as error:
        reason = error.args[0] if error.args else error
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        message = f"{match_re!r} does not compile with engine {engine!r}: {text}"
        raise MatcherError(message) from error


class _ConfirmBase:
    """Windows and decoding, which the engines share."""

    __slots__ = ("_groups",)

    def __init__(self, groups: dict[str, int]) -> None:
        self._groups = tuple(groups.items())

    def _spans(self, segment: bytes, start: int, end: int) -> _Spans | None:
        raise NotImplementedError

    def search(self, segment: bytes, hit_end: int) -> dict[str, str] | None:
        size = len(segment)
        if size <= _BEFORE + _AFTER:
            spans = self._spans(segment, 0, size)
        else:
            window = max(hit_end - _BEFORE, 0), min(hit_end + _AFTER, size)
            spans = self._spans(segment, *window) or self._spans(segment, 0, size)
        if spans is None:
            return None
        captures = {}
        for name, group in self._groups:
            span = spans[group]
            if span != _MISSING:
                text = (
                    segment[span[0] : span[1]]
                    if span[1] - span[0] <= _MAX_CAPTURE
                    else segment[span[0] : span[0] + _MAX_CAPTURE]
                )
                captures[name] = text.decode("utf-8", "replace")
        return captures

    def find(self, segment: bytes) -> tuple[int, int] | None:
        spans = self._spans(segment, 0, len(segment))
        return None if spans is None else spans[0]


class _LinearConfirm(_ConfirmBase):
    """RE2: linear in the segment whatever the pattern."""

    __slots__ = ("_match", "_unanchored")

    def __init__(self, match_re: str) -> None:
        compiled = _compile_re2(match_re.encode("utf-8"))
        super().__init__({name.decode("utf-8"): group for name, group in compiled.groupindex.items()})
        inner = compiled._regexp  # noqa: SLF001 -- the wrapper's match objects cost three times the search itself
        self._match: Callable[[Any, bytes, int, int], _Spans] = inner.Match
        self._unanchored = type(inner).Anchor.UNANCHORED

    def _spans(self, segment: bytes, start: int, end: int) -> _Spans | None:
        spans = self._match(self._unanchored, segment, start, end)
        return None if spans[0] == _MISSING else spans


class _BacktrackingConfirm(_ConfirmBase):
    """Python's ``re``, for the few patterns that need look-around; the rule loader admits bounded repeats only."""

    __slots__ = ("_search",)

    def __init__(self, match_re: str) -> None:
        compiled = re.compile(match_re.encode("utf-8"))
        super().__init__(dict(compiled.groupindex))
        self._search = compiled.search

    def _spans(self, segment: bytes, start: int, end: int) -> _Spans | None:
        found = self._search(segment, start, end)
        return None if found is None else [found.span(), *found.regs[1:]]


def _compile_re2(pattern: bytes) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # one byte is one character: invalid UTF-8 can be matched too
    options.log_errors = False
    options.max_mem = _MEMORY[0][1]
    try:
        compiled = re2.compile(pattern, options)
        size = compiled._regexp.ProgramSize()  # noqa: SLF001 -- the wrapper does not pass it on
        memory = max(memory for least, memory in _MEMORY if size >= least)
    except re2.error:
        memory = _LARGE_MEMORY
    if memory != options.max_mem:
        options.max_mem = memory
        compiled = re2.compile(pattern, options)
    return compiled
