"""Compiles the widened patterns into one Hyperscan database, or loads it from the cache."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import hyperscan

from attribution_lib.match.cache import Kept
from attribution_lib.match.pattern import superset
from attribution_lib.match.plain import engine_of
from attribution_lib.match.syntax import UnsupportedSyntaxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_lib.match.cache import DatabaseCache

__all__ = ["Compiled", "load_or_compile"]

_WIDENING = 1
"""Counts changes to what ``superset`` derives: a kept database of another count is not used."""
_VERSION: str = hyperscan.__version__  # type: ignore[attr-defined] # absent from its stub
_FLAGS: int = hyperscan.HS_FLAG_MULTILINE
"""Never SINGLEMATCH: it would report a pattern once a buffer. No DOTALL: a match stays within its line."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """``database`` is None when no pattern went into it; ``refused`` says, by index, why some did not."""

    database: Any
    refused: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Expression:
    pattern: int
    text: bytes
    flags: int = _FLAGS


def load_or_compile(
    patterns: Sequence[str], engines: Sequence[str], digest: str, cache: DatabaseCache | None
) -> Compiled:
    """The database of these patterns, from the cache when it holds one that loads here."""
    if not patterns:
        return Compiled(None)
    key = _key(patterns, engines, digest)
    kept = None if cache is None else cache.read(key)
    if kept is not None:
        with suppress(hyperscan.error):  # built for another processor
            return Compiled(hyperscan.loadb(kept.database, hyperscan.HS_MODE_BLOCK), kept.refused)
    compiled = _compile_all(patterns, engines)
    if cache is not None and compiled.database is not None:
        cache.write(key, Kept(hyperscan.dumpb(compiled.database), compiled.refused))
    return compiled


def _key(patterns: Sequence[str], engines: Sequence[str], digest: str) -> str:
    facts = (digest, str(_WIDENING), _VERSION, platform.machine(), repr(list(engines)), *patterns)
    return sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _compile_all(patterns: Sequence[str], engines: Sequence[str]) -> Compiled:
    refused: dict[int, str] = {}
    expressions = []
    for index, pattern in enumerate(patterns):
        try:
            expressions.append(_Expression(index, superset(pattern, engine_of(engines, index)).encode("ascii")))
        except UnsupportedSyntaxError as error:
            refused[index] = str(error)
    try:
        return Compiled(_compile(expressions), refused)
    except hyperscan.error:
        accepted = [taken for expression in expressions if (taken := _accept(expression, refused)) is not None]
        return Compiled(_compile(accepted), refused)


def _accept(expression: _Expression, refused: dict[int, str]) -> _Expression | None:
    """The expression in a form that compiles on its own: as it is, else as a prefilter; None when neither does."""
    try:
        _compile([expression])
    except hyperscan.error as error:
        if expression.flags == _FLAGS:
            prefilter = _Expression(expression.pattern, expression.text, _FLAGS | hyperscan.HS_FLAG_PREFILTER)
            return _accept(prefilter, refused)
        refused[expression.pattern] = f"Hyperscan: {error}"
        return None
    return expression


def _compile(expressions: Sequence[_Expression]) -> Any:
    if not expressions:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[expression.text for expression in expressions],
        ids=[expression.pattern for expression in expressions],
        flags=[expression.flags for expression in expressions],
    )
    return database
