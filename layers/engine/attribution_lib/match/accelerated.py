"""The fast path: one Hyperscan database over all patterns of a source, scanned a slab at a time.

It only proposes (line, pattern) pairs; ``pattern.Confirm`` decides. See docs/decisions/0002 for why it never gets an
author's pattern as written.
"""

from __future__ import annotations

import threading
from array import array
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import hyperscan

from attribution_lib.match.database import load_or_compile
from attribution_lib.match.plain import Hit, PlainMatcher, SegmentHits
from attribution_lib.match.slabs import SLAB, cut_slabs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_lib.match.cache import DatabaseCache

__all__ = ["HyperscanMatcher"]

_hit: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor."""
_PATTERN_BITS = 20
_PATTERN_MASK = (1 << _PATTERN_BITS) - 1


class HyperscanMatcher:
    """Finds candidate lines with Hyperscan; safe to share between threads (each clones its scratch on first use).

    Patterns that Hyperscan cannot take are searched line by line, and ``diagnostics`` says which and why. ``slab`` is
    how many bytes are scanned at once, line ends apart.
    """

    def __init__(
        self,
        patterns: Sequence[str],
        engines: Sequence[str] = (),
        *,
        cache: DatabaseCache | None = None,
        digest: str = "",
        slab: int = SLAB,
    ) -> None:
        self._slab = slab
        compiled = load_or_compile(patterns, engines, digest, cache)
        self.diagnostics = tuple(
            f"the pattern {patterns[index]!r} is searched line by line: {reason}"
            for index, reason in compiled.refused.items()
        )
        self._scanner = None if compiled.database is None else _Scanner(compiled.database)
        self._rest = PlainMatcher(patterns, engines, only=list(compiled.refused)) if compiled.refused else None

    def scan(self, data: bytes) -> Iterator[Hit]:
        """Candidate hits by segment, then pattern; one a (segment, pattern). Memory is bounded by the slab."""
        for start, end, hits in self.segments(data):
            for pattern, hit_end in hits:
                yield _hit(Hit, (start, end, pattern, start + hit_end))

    def segments(self, data: bytes) -> Iterator[SegmentHits]:
        """The same, segment by segment."""
        for offset, slab in cut_slabs(data, self._slab):
            ends = [] if self._scanner is None else self._scanner.ends(slab)
            if self._rest is None:
                yield from _segments(slab, ends, offset)
            else:
                rest = [(start + offset, end + offset, hits) for start, end, hits in self._rest.segments(slab)]
                yield from _together(sorted([*_segments(slab, ends, offset), *rest]))


class _Scanner:
    """A database and one scratch a thread: Hyperscan refuses to share scratch."""

    def __init__(self, database: hyperscan.Database) -> None:
        self._database = database
        self._scratch = hyperscan.Scratch(database)
        self._local = threading.local()

    def ends(self, slab: bytes) -> list[int]:
        """Where matches end, ascending, each packed with its pattern."""
        found = array("Q")
        append = found.append

        def on_match(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append(end << _PATTERN_BITS | pattern)

        self._database.scan(slab, match_event_handler=on_match, scratch=self._own_scratch())
        return sorted(found)

    def _own_scratch(self) -> hyperscan.Scratch:
        scratch: hyperscan.Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._scratch.clone()
        return scratch


def _segments(slab: bytes, ends: Iterable[int], offset: int) -> Iterator[SegmentHits]:
    """The first hit of each pattern in each segment, ``offset`` bytes on. A match is not empty and has no line feed."""
    start, segment_end = 0, -1
    first_ends: dict[int, int] = {}
    for packed in ends:
        end = packed >> _PATTERN_BITS
        if end <= segment_end:
            pattern = packed & _PATTERN_MASK
            if pattern not in first_ends:
                first_ends[pattern] = end - start
            continue
        if first_ends:
            yield start + offset, segment_end + offset, sorted(first_ends.items())
        start = slab.rfind(b"\n", 0, end) + 1
        segment_end = slab.find(b"\n", end)
        if segment_end < 0:
            segment_end = len(slab)
        first_ends = {packed & _PATTERN_MASK: end - start}
    if first_ends:
        yield start + offset, segment_end + offset, sorted(first_ends.items())


def _together(segments: Iterable[SegmentHits]) -> Iterator[SegmentHits]:
    """Segments in order, of which one may come twice."""
    for (start, end), found in groupby(segments, key=itemgetter(0, 1)):
        yield start, end, sorted(hit for _, _, hits in found for hit in hits)
