"""Compares the accelerated matcher with the plain loop: same lines, same patterns, same captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.match.matcher import Matcher, PlainMatcher, build_matcher
from attribution_lib.match.pattern import compile_confirm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from attribution_lib.match.pattern import Confirm

    Findings = dict[tuple[int, int], Mapping[str, str]]

__all__ = ["COPIES", "PREFIX_SIZES", "assert_equivalent", "confirmed"]

PREFIX_SIZES = (0, 31, 64, 200)
"""Bytes before each line: a lossy accelerator once lost matches only behind 30 of them."""
COPIES = 5
"""… and only when a line stood several times in one buffer."""
_SHOWN = 300
_PREFIX = b"node-0001 python[77]: [rank3]: 2026-06-01 03:14:02,123 - ERROR - trainer.loop: " * 4


def assert_equivalent(
    patterns: Sequence[str], lines: Iterable[bytes], engines: Sequence[str] = (), *, thorough: bool = True
) -> None:
    """Every pattern is confirmed in exactly the lines, with exactly the captures, that a plain loop finds.

    Each line (without its line end) is tried behind several lengths of prefix and five times in one buffer. Not
    ``thorough``, the plain loop searches all patterns in the bare lines only, and behind prefixes those that were found
    there or by the accelerator: a quarter of the time for whole rule sets.
    """
    accelerated = build_matcher(patterns, engines)
    assert not isinstance(accelerated, PlainMatcher), accelerated.diagnostics
    plain = PlainMatcher(patterns, engines)
    confirms = [compile_confirm(pattern, engine) for pattern, engine in _with_engines(patterns, engines)]
    distinct = list(dict.fromkeys(line.replace(b"\n", b" ") for line in lines))
    known: set[tuple[int, int]] = set()
    for size in PREFIX_SIZES:
        prefixed = [_PREFIX[len(_PREFIX) - size :] + line for line in distinct]
        found = confirmed(accelerated, confirms, [line for line in prefixed for _ in range(COPIES)])
        if thorough:
            expected = confirmed(plain, confirms, prefixed)
        else:
            known |= {(line // COPIES, pattern) for line, pattern in found}
            expected = _searched(known if size else _all_pairs(prefixed, patterns), confirms, prefixed)
        known |= expected.keys()
        for (line, pattern), captures in expected.items():
            for copy in range(COPIES):
                place = f"{patterns[pattern]!r} in copy {copy} of {prefixed[line][:_SHOWN]!r}"
                assert found.pop((line * COPIES + copy, pattern), None) == captures, place
        assert not found, {(patterns[pattern], prefixed[line // COPIES][:_SHOWN]) for line, pattern in found}


def _all_pairs(lines: Sequence[bytes], patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pattern by pattern: what an engine keeps of one pattern stays at hand, which a third of the time depends on."""
    return ((line, pattern) for pattern in range(len(patterns)) for line in range(len(lines)))


def _searched(pairs: Iterable[tuple[int, int]], confirms: Sequence[Confirm], lines: Sequence[bytes]) -> Findings:
    searched = ((line, pattern, confirms[pattern].search(lines[line], 0)) for line, pattern in pairs)
    return {(line, pattern): captures for line, pattern, captures in searched if captures is not None}


def confirmed(matcher: Matcher, confirms: Sequence[Confirm], lines: Sequence[bytes]) -> Findings:
    """(line, pattern) → captures of what a matcher proposes and the confirmations accept."""
    data = b"\n".join(lines)
    found: Findings = {}
    line = line_start = 0
    for hit in matcher.scan(data):
        line += data.count(b"\n", line_start, hit.start)
        line_start = hit.start
        segment = data[hit.start : hit.end]
        assert b"\n" not in segment
        assert (line, hit.pattern) not in found, "a pair is proposed once"
        captures = confirms[hit.pattern].search(segment, hit.hit_end - hit.start)
        if captures is not None:
            found[line, hit.pattern] = captures
    return found


def _with_engines(patterns: Sequence[str], engines: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(patterns, engines or ["re2"] * len(patterns), strict=True))
