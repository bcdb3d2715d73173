"""The matchers: what they propose, in which order, and what happens when the accelerator cannot be trusted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import MatcherError
from attribution_lib.match import slabs
from attribution_lib.match.accelerated import HyperscanMatcher
from attribution_lib.match.matcher import Hit, PlainMatcher, build_matcher
from attribution_lib.match.plain import by_segment
from attribution_lib.match.selftest import KNOWN_PAIRS, failures
from match_kit import assert_equivalent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_lib.match.matcher import Matcher, SegmentHits

EITHER = pytest.mark.parametrize("make", [build_matcher, PlainMatcher], ids=["accelerated", "plain"])


@EITHER
def test_hits_come_by_segment_then_pattern_and_once_for_each_pair(make: type[PlainMatcher]) -> None:
    matcher = make(["second", "first"])
    hits = list(matcher.scan(b"first second first\nnothing\nsecond"))
    assert [(hit.start, hit.end, hit.pattern) for hit in hits] == [(0, 18, 0), (0, 18, 1), (27, 33, 0)]
    assert [hit.hit_end for hit in hits] == [12, 5, 33]


@EITHER
def test_hits_of_one_segment_come_together(make: type[PlainMatcher]) -> None:
    found = list(make(["second", "first"]).segments(b"first second first\nnothing\nsecond"))
    assert found == [(0, 18, [(0, 12), (1, 5)]), (27, 33, [(0, 6)])]


def test_what_the_accelerator_refuses_comes_together_with_what_it_finds() -> None:
    large = "(?:" + "|".join(f"{chr(97 + n % 26)}.*{n}.*x[a-f]{{1,9}}.{{3}}z" for n in range(3000)) + ")"
    matcher = build_matcher(["needle", large, "hay"])
    found = {
        start: [pattern for pattern, _ in hits] for start, _, hits in matcher.segments(b"hay b..1..xa123z needle\n")
    }
    assert found == {0: [0, 1, 2]}


@EITHER
@pytest.mark.parametrize("patterns", [[], ["needle"]])
def test_empty_data_has_no_hits(make: type[PlainMatcher], patterns: list[str]) -> None:
    assert list(make(patterns).scan(b"")) == []


@EITHER
def test_an_empty_pattern_set_has_no_hits(make: type[PlainMatcher]) -> None:
    matcher = make([])
    assert list(matcher.scan(b"anything\n")) == []
    assert matcher.diagnostics == ()


@EITHER
def test_equal_patterns_are_all_reported(make: type[PlainMatcher]) -> None:
    assert [hit.pattern for hit in make(["needle", "needle", "(?P<n>needle)"]).scan(b"needle")] == [0, 1, 2]


@EITHER
def test_empty_segments_and_missing_last_line_end_are_no_trouble(make: type[PlainMatcher]) -> None:
    assert [hit[:2] for hit in make(["needle"]).scan(b"\n\nneedle\n\n\nneedle")] == [(2, 8), (11, 17)]


@EITHER
def test_a_match_never_spans_lines(make: type[PlainMatcher]) -> None:
    assert list(make([r"longer\s+right", r"longer[^x]right"]).scan(b"longer\nright")) == []


@EITHER
def test_a_broken_pattern_is_an_error(make: type[PlainMatcher]) -> None:
    with pytest.raises(MatcherError, match="does not compile"):
        make(["(open"])


def test_a_pattern_that_cannot_be_accelerated_is_searched_line_by_line() -> None:
    patterns = ["needle", r"\pL{2}eedle", "pin"]
    matcher = build_matcher(patterns)
    assert isinstance(matcher, HyperscanMatcher)
    assert len(matcher.diagnostics) == 1
    assert r"'\\pL{2}eedle' is searched line by line" in matcher.diagnostics[0]
    assert [(hit.start, hit.pattern) for hit in matcher.scan(b"a needle\nneedle, pin\nxneedle")] == [
        (0, 0),
        (9, 0),
        (9, 2),
        (21, 0),
        (21, 1),
    ]


def test_a_pattern_that_every_line_holds_is_searched_line_by_line() -> None:
    matcher = build_matcher([".*", "needle"])
    assert [(hit.start, hit.pattern) for hit in matcher.scan(b"a\nneedle")] == [(0, 0), (2, 0), (2, 1)]


def test_one_pattern_too_large_for_the_accelerator_costs_only_itself() -> None:
    large = "(?:" + "|".join(f"{chr(97 + n % 26)}.*{n}.*x[a-f]{{1,9}}.{{3}}z" for n in range(3000)) + ")"
    matcher = build_matcher(["needle", large])
    assert isinstance(matcher, HyperscanMatcher)
    hits = [(hit.start, hit.pattern) for hit in matcher.scan(b"needle\nb..1..xa123z\n")]
    assert (0, 0) in hits
    assert (7, 1) in hits


def test_each_pattern_keeps_its_engine() -> None:
    matcher = build_matcher([r"(?<!My)Error", "Error"], ["re", "re2"])
    assert [hit.pattern for hit in matcher.scan(b"Error")] == [0, 1]
    assert_equivalent([r"(?<!My)Error", "Error"], [b"Error", b"MyError", b"MyError Error"], ["re", "re2"])


def test_slabs_are_cut_at_line_ends_and_lose_nothing() -> None:
    data = b"".join(b"line %d needle\n" % number for number in range(1000)) + b"x" * 500 + b" needle"
    whole = list(build_matcher(["needle"]).scan(data))
    pieces = list(slabs.cut_slabs(data, 100))
    assert b"".join(piece for _, piece in pieces) == data
    assert all(piece.endswith(b"\n") for _, piece in pieces[:-1])
    assert [offset for offset, _ in pieces] == [data.index(piece) for _, piece in pieces]
    assert list(HyperscanMatcher(["needle"], slab=100).scan(data)) == whole
    assert len(whole) == 1001


def test_a_line_longer_than_a_slab_is_a_slab_of_its_own() -> None:
    data = b"a\n" + b"x" * 50 + b"\nb\n" + b"y" * 50
    assert [piece for _, piece in slabs.cut_slabs(data, 10)] == [b"a\n", b"x" * 50 + b"\n", b"b\n", b"y" * 50]


def test_threads_share_one_matcher() -> None:
    matcher = build_matcher(["needle", r"pin\d+"])
    data = b"hay\nneedle\npin7\n" * 20_000
    expected = list(matcher.scan(data))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: list(matcher.scan(data)), range(16)):
            assert found == expected


class _LossyMatcher:
    """Loses what stands in equal lines behind a prefix, as Vectorscan 5.4.12 does."""

    def __init__(self, patterns: Sequence[str], engines: Sequence[str] = ()) -> None:
        self.diagnostics: tuple[str, ...] = ()
        self._plain = PlainMatcher(patterns, engines)

    def scan(self, data: bytes) -> Iterator[Hit]:
        lines = data.split(b"\n")
        for hit in self._plain.scan(data):
            if not (lines.count(data[hit.start : hit.end]) > 1 and hit.hit_end - hit.start > 30):
                yield hit

    def segments(self, data: bytes) -> Iterator[SegmentHits]:
        return by_segment(self.scan(data))


def test_a_lossy_accelerator_is_replaced_by_the_plain_loop() -> None:
    matcher = build_matcher(["needle"], factory=_LossyMatcher)
    assert isinstance(matcher, PlainMatcher)
    assert "without the accelerator: it failed 2 of its self-tests" in matcher.diagnostics[0]
    assert "ValueError" in matcher.diagnostics[0]
    assert [hit.start for hit in matcher.scan(b"a\nneedle\n")] == [2]


def test_an_accelerator_that_breaks_is_replaced_by_the_plain_loop() -> None:
    def broken(patterns: Sequence[str], engines: Sequence[str]) -> Matcher:
        message = f"no accelerator for {len(patterns)} patterns and {len(engines)} engines"
        raise OSError(message)

    matcher = build_matcher(["needle"], factory=broken)
    assert isinstance(matcher, PlainMatcher)
    assert "OSError: no accelerator" in matcher.diagnostics[0]


@EITHER
def test_the_self_test_passes(make: type[PlainMatcher]) -> None:
    assert list(failures(make)) == []
    assert len(KNOWN_PAIRS) >= 20


def test_the_self_test_holds_against_too_many_hits() -> None:
    class Eager(_LossyMatcher):
        def scan(self, data: bytes) -> Iterator[Hit]:
            return iter([Hit(0, len(data), pattern, len(data)) for pattern in range(12)])

    assert any("found in lines [0]" in failure for failure in failures(Eager))
