"""Checks of one regular expression at load: does it compile, what does it capture, is it safe."""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found] # CPython's own parser has no stubs
import re._parser as sre_parser  # type: ignore[import-not-found] # likewise
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Pattern", "PatternError", "read_pattern"]

_NAMED_GROUP = re.compile(r"(?<!\\)\(\?P?<([A-Za-z_]\w*)>")
_REPEATS = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})


class PatternError(ValueError):
    """A pattern that no rule may have; the message says why."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that compiles, and the names of its groups."""

    text: str
    captures: frozenset[str]


def _quiet_options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # lines are matched as bytes
    options.log_errors = False
    return options


def read_pattern(text: str, *, engine: str = "re2") -> Pattern:
    """Compile a pattern for its engine; ``PatternError`` when it does not compile or an ``re`` one is unbounded."""
    if engine == "re":
        return _read_backtracking(text)
    try:
        compiled = re2.compile(text.encode(), _quiet_options())
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise PatternError(reason.decode() if isinstance(reason, bytes) else str(reason)) from error
    _refuse_repeated_names(text)
    return Pattern(text, frozenset(name.decode() for name in compiled.groupindex))


def _refuse_repeated_names(text: str) -> None:
    """RE2 takes two groups of one name and reports the first alone, whichever took part."""
    names = _NAMED_GROUP.findall(text)
    for name in names:
        if names.count(name) > 1:
            msg = f"has two groups named {name}; name them apart"
            raise PatternError(msg)


def _read_backtracking(text: str) -> Pattern:
    try:
        compiled = re.compile(text)
        parsed = sre_parser.parse(text)
    except re.error as error:
        raise PatternError(str(error)) from error
    if _unbounded(parsed):
        msg = 'has an unbounded repeat (*, + or {n,}), which engine = "re" cannot run in linear time'
        raise PatternError(msg)
    return Pattern(text, frozenset(compiled.groupindex))


def _unbounded(parsed: Iterable[Any]) -> bool:
    for opcode, argument in parsed:
        if opcode in _REPEATS and argument[1] == sre.MAXREPEAT:
            return True
        if any(_unbounded(child) for child in _children(argument)):
            return True
    return False


def _children(argument: Any) -> list[Any]:
    if isinstance(argument, sre_parser.SubPattern):
        return [argument]
    if isinstance(argument, list | tuple):
        return [child for item in argument for child in _children(item)]
    return []
