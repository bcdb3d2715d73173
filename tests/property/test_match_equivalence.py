"""Accelerated ≡ plain loop, on random patterns and on hostile lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.errors import MatcherError
from attribution_lib.match.accelerated import HyperscanMatcher
from attribution_lib.match.matcher import PlainMatcher, build_matcher
from attribution_lib.match.pattern import compile_confirm, superset
from attribution_lib.match.syntax import UnsupportedSyntaxError
from match_kit import assert_equivalent, confirmed

REALISTIC = [
    r"^(?:.*?:\s)?ValueError: (?P<message>.*)",
    r"(?:^|[\s:\]\)|>])(?P<exc>(?:\w+\.)*\w+(?:Error|Exception)): (?P<message>.*)",
    r"NVRM: Xid \((?P<device>[^)]+)\): (?P<code>\d+)(?:, (?P<rest>.*))?$",
    r"\[Rank (?P<rank>\d+)\] Watchdog caught collective operation timeout: (?P<work>.*?)ran for (?P<ms>\d+) milli",
    r"NCCL WARN (?P<text>.*[^ ])\s*$",
    r"(?i)\bout of memory\b",
    r"(?:^|[\s:\]\)|>])slurmstepd: error: \*\*\* (?P<what>STEP|JOB) (?P<id>\S+) ON (?P<n>\S+) CANCELLED AT (?P<t>\S+)",
    r"Killed process (?P<pid>\d+) \((?P<comm>[^)]*)\)(?:.*anon-rss:(?P<rss>\d+)kB)?",
    r"mlx5_core (?P<device>[0-9a-f:.]{4,32}): .*error",
    r"loss: (?P<value>nan|[-+]?inf)\b",
    r"^Segmentation fault(?: \(core dumped\))?$",
    r"exit(?:ed)? (?:code|status)[ =:]+(?P<code>-?\d{1,3})\b",
]
FRAGMENTS = [
    b"ValueError: ",
    b"RuntimeError: CUDA out of memory",
    b"NVRM: Xid (PCI:0000:3b:00): 79, pid=1",
    b"[Rank 3] Watchdog caught collective operation timeout: ",
    b"ran for 600000 milliseconds",
    b"NCCL WARN ",
    b"Out Of Memory",
    b"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-06-01T03:14:02 ***",
    b"Killed process 12 (python)",
    b"anon-rss:12kB",
    b"mlx5_core 0000:3b:00.0: ",
    b"error",
    b"loss: nan",
    b"loss: -inf",
    b"Segmentation fault",
    b" (core dumped)",
    b"exited code: -9",
    b"exit status=137",
    *(b": ", b" ", b"]", b"\t", b"\r", b"\0", b"\xff\xfe", b"\x1b[31m", b"\v", "é—💥".encode()),
    *(b"a" * 40, b".*", b"(?P<", b"\\", b"$^"),
]

lines = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=12), max_size=6).map(b"".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(lines, min_size=1, max_size=12))
def test_realistic_patterns_on_hostile_lines(hostile: list[bytes]) -> None:
    assert_equivalent(REALISTIC, hostile)


def test_every_fragment_in_a_long_line() -> None:
    assert_equivalent(REALISTIC, [b"x" * 30_000 + fragment + b" " * 30_000 for fragment in FRAGMENTS])


LETTERS = ["a", "b", "ab", "Err: ", "abc", ".", ":", "é", r"\.", "(?i:aB)"]
CLASSES = [r"\d", r"\w", r"\s", r"\S", r"\D", "[ab]", "[^a]", "[^b ]", r"[\w:]"]
ATOMS = st.sampled_from(LETTERS + CLASSES)
EDGES = st.sampled_from(["", "", "", "^", r"\b", r"\B", r"(?:^|[\s:])", "(?:^|.*:)", ".*", r"\s*"])
ENDS = st.sampled_from(["", "", "", "$", r"\b", ".*", ".*$", r"(?::\s.*)?", r"(?:\s|$)", "b*$"])
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,20}", "{2,}"])


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: "(?:" + "|".join(options) + ")"),
        st.tuples(inner, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


def _is_within_limits(pattern: str) -> bool:
    """RE2 refuses repeats within repeats of more than a thousand in all, as ``((a{1,20}){1,20}){1,20}``."""
    try:
        compile_confirm(pattern)
    except MatcherError:
        return False
    return True


patterns = (
    st.tuples(EDGES, st.recursive(st.tuples(ATOMS, QUANTIFIERS).map("".join), _extend, max_leaves=8), ENDS)
    .map("".join)
    .filter(_is_within_limits)
)
texts = st.text("abAB :.1é\t-", max_size=30).map(str.encode) | st.text("abE:r ", max_size=40).map(str.encode)


def test_a_pattern_beyond_the_limits_of_repeats_is_refused_with_the_reason() -> None:
    with pytest.raises(MatcherError, match="invalid repetition size"):
        compile_confirm("(?:(?:(?:a{1,20})){1,20}){1,20}")


@settings(max_examples=400, deadline=None)
@given(patterns, st.lists(texts, min_size=1, max_size=10))
def test_a_superset_is_found_wherever_its_pattern_is(pattern: str, samples: list[bytes]) -> None:
    confirm = compile_confirm(pattern)
    try:
        wide = re.compile(superset(pattern).encode())
    except UnsupportedSyntaxError:
        return
    for text in samples:
        if confirm.find(text) is not None:
            assert wide.search(text), (pattern, wide.pattern, text)


@settings(max_examples=120, deadline=None)
@given(st.lists(patterns, min_size=1, max_size=8), st.lists(texts, min_size=1, max_size=12))
def test_random_patterns_on_random_lines(random_patterns: list[str], samples: list[bytes]) -> None:
    accelerated, plain = HyperscanMatcher(random_patterns), PlainMatcher(random_patterns)
    confirms = [compile_confirm(pattern) for pattern in random_patterns]
    repeated = [line for line in samples for _ in range(3)]
    assert confirmed(accelerated, confirms, repeated) == confirmed(plain, confirms, repeated)


@pytest.mark.parametrize("dense", [b"Err: a", b"a", b"ab: "])
def test_a_long_line_of_dense_hits_is_linear(dense: bytes) -> None:
    dense_patterns = ["Err: a+b", r"a.*b\d", "a[^c]+c", r"ab: (?P<x>\S+)"]
    line = dense * (1_000_000 // len(dense))
    hits = list(build_matcher(dense_patterns).scan(line))
    assert len(hits) <= len(dense_patterns)
    for hit in hits:
        compile_confirm(dense_patterns[hit.pattern]).search(line, hit.hit_end)
