"""The slow path that is right by construction: every pattern on every line."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from attribution_lib.match.pattern import compile_confirm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Hit", "PlainMatcher", "SegmentHits", "by_segment", "engine_of"]

_MAX_REACH = 8 << 10


class Hit(NamedTuple):
    """A candidate: this pattern may match in this segment. Offsets are into the scanned data."""

    start: int
    end: int
    """Where the segment ends, its line feed excluded."""
    pattern: int
    """Index into the patterns that the matcher was built from."""
    hit_end: int
    """Where the first hit ends; confirmation looks around it on long segments."""


SegmentHits = tuple[int, int, list[tuple[int, int]]]
"""Where a segment begins and ends, and of each pattern that may match in it where in the segment its first hit ends."""


class PlainMatcher:
    """Searches every pattern in every segment; the reference that the accelerator is compared with."""

    def __init__(
        self,
        patterns: Sequence[str],
        engines: Sequence[str] = (),
        *,
        only: Sequence[int] | None = None,
        diagnostics: tuple[str, ...] = (),
    ) -> None:
        self.diagnostics = diagnostics
        indices = range(len(patterns)) if only is None else only
        self._confirms = [(index, compile_confirm(patterns[index], engine_of(engines, index))) for index in indices]

    def scan(self, data: bytes) -> Iterator[Hit]:
        """Hits by segment, then pattern; one a (segment, pattern)."""
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            segment = data[start:end]
            for pattern, confirm in self._confirms:
                found = confirm.find(segment)
                if found is not None:
                    yield Hit(start, end, pattern, start + min(found[1], found[0] + _MAX_REACH))
            start = end + 1

    def segments(self, data: bytes) -> Iterator[SegmentHits]:
        """The same, segment by segment."""
        return by_segment(self.scan(data))


def by_segment(hits: Iterable[Hit]) -> Iterator[SegmentHits]:
    """Hits that come by segment, those of one segment together."""
    for (start, end), found in groupby(hits, key=itemgetter(0, 1)):
        yield start, end, [(hit.pattern, hit.hit_end - start) for hit in found]


def engine_of(engines: Sequence[str], index: int) -> str:
    """The engine of one pattern; RE2 where none is given."""
    return engines[index] if engines else "re2"
