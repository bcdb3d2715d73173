"""One pattern: the wider form that the accelerator scans for, and the confirmation that alone decides on a line."""

from __future__ import annotations

import re
from functools import lru_cache, partial
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
_MEMORY = ((0, 256 << 10), (150, 1 << 20), (1_000, 4 << 20), (3_000, 8 << 20))
"""(instructions, bytes): what RE2 may keep its states in. Hostile text could fill that of every pattern at once, but
with room for fewer than some ten states, or for fewer than everyday lines need, RE2 takes hundreds of times as long."""
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
        return _backtracking(match_re) if engine == "re" else _linear(match_re)
    except (re.error, re2.error) as error:
        reason = error.args[0] if error.args else error
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        message = f"{match_re!r} does not compile with engine {engine!r}: {text}"
        raise MatcherError(message) from error


class _Confirm:
    """Windows and decoding, which the engines share."""

    __slots__ = ("_groups", "_spans")

    def __init__(self, groups: dict[str, int], spans: Callable[[bytes, int, int], _Spans | None]) -> None:
        """``spans`` searches a part of a segment: where each group lies; None, or nowhere, if there is no match."""
        self._groups = tuple(groups.items())
        self._spans = spans

    def search(self, segment: bytes, hit_end: int) -> dict[str, str] | None:
        size = len(segment)
        if size <= _BEFORE + _AFTER:
            spans = self._spans(segment, 0, size)
        else:
            window = max(hit_end - _BEFORE, 0), min(hit_end + _AFTER, size)
            spans = self._spans(segment, *window)
            if spans is None or spans[0] == _MISSING:
                spans = self._spans(segment, 0, size)
        if spans is None or spans[0] == _MISSING:
            return None
        captures = {}
        for name, group in self._groups:
            start, end = spans[group]
            if start >= 0:
                text = segment[start:end] if end - start <= _MAX_CAPTURE else segment[start : start + _MAX_CAPTURE]
                captures[name] = text.decode("utf-8", "replace")
        return captures

    def find(self, segment: bytes) -> tuple[int, int] | None:
        spans = self._spans(segment, 0, len(segment))
        return None if spans is None or spans[0] == _MISSING else spans[0]


def _linear(match_re: str) -> Confirm:
    """RE2: linear in the segment whatever the pattern."""
    compiled = _compile_re2(match_re.encode("utf-8"))
    inner = compiled._regexp  # noqa: SLF001 -- the wrapper's match objects cost three times the search itself
    groups = {name.decode("utf-8"): group for name, group in compiled.groupindex.items()}
    return _Confirm(groups, partial(inner.Match, type(inner).Anchor.UNANCHORED))


def _backtracking(match_re: str) -> Confirm:
    """Python's ``re``, for the few patterns that need look-around; the rule loader admits bounded repeats only."""
    compiled = re.compile(match_re.encode("utf-8"))

    def spans(segment: bytes, start: int, end: int) -> _Spans | None:
        found = compiled.search(segment, start, end)
        return None if found is None else list(found.regs)

    return _Confirm(dict(compiled.groupindex), spans)


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
