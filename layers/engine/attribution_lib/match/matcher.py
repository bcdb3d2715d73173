"""Builds the matcher of one source: which lines may match which patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attribution_lib.errors import MatcherError
from attribution_lib.match.cache import DatabaseCache
from attribution_lib.match.plain import Hit, PlainMatcher, SegmentHits
from attribution_lib.match.selftest import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    MatcherFactory = Callable[[Sequence[str], Sequence[str]], "Matcher"]

__all__ = ["Hit", "Matcher", "PlainMatcher", "SegmentHits", "build_matcher"]


class Matcher(Protocol):
    """Proposes (segment, pattern) pairs; only a pattern's ``Confirm`` decides."""

    diagnostics: tuple[str, ...]
    """What did not go as planned, in words; empty when all patterns are accelerated."""

    def scan(self, data: bytes) -> Iterator[Hit]:
        """Hits ordered by segment, then pattern, at most one for each pair, produced as the scan proceeds.

        Segments end at line feeds. Hits may be wrong but none is missing.
        """
        ...

    def segments(self, data: bytes) -> Iterator[SegmentHits]:
        """The same hits, those of a segment together: what whoever reads line by line asks for."""
        ...


def build_matcher(
    patterns: Sequence[str],
    engines: Sequence[str] = (),
    *,
    cache_dir: Path | None = None,
    digest: str = "",
    factory: MatcherFactory | None = None,
) -> Matcher:
    """The accelerated matcher of these patterns, or the plain loop when the accelerator fails its self-test.

    ``engines`` names each pattern's engine (default RE2). Compiled databases are kept in ``cache_dir`` under the
    patterns, ``digest``, the accelerator's version and the processor. ``factory`` builds another accelerator.
    """
    try:
        cache = None if cache_dir is None else DatabaseCache(cache_dir)
        wrong = list(failures(factory or _accelerated(cache, "self-test")))
        if not wrong:
            return (factory or _accelerated(cache, digest))(patterns, engines)
        reason = f"it failed {len(wrong)} of its self-tests, first: {wrong[0]}"
    except MatcherError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever breaks in native code, the plain loop still works
        reason = f"{type(error).__name__}: {error}"
    return PlainMatcher(patterns, engines, diagnostics=(f"lines are matched without the accelerator: {reason}",))


def _accelerated(cache: DatabaseCache | None, digest: str) -> MatcherFactory:
    from attribution_lib.match.accelerated import HyperscanMatcher  # noqa: PLC0415 -- may be absent on a platform

    def make(patterns: Sequence[str], engines: Sequence[str]) -> Matcher:
        return HyperscanMatcher(patterns, engines, cache=cache, digest=digest)

    return make
