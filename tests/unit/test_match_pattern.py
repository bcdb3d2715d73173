"""Confirmation: what a pattern captures on one segment, whatever stands in it and however long it is."""

import pytest

from attribution_lib.errors import MatcherError
from attribution_lib.match.pattern import compile_confirm

ENGINES = pytest.mark.parametrize("engine", ["re2", "re"])
LONG = 200_000


@ENGINES
def test_named_groups_are_decoded(engine: str) -> None:
    confirm = compile_confirm(r"(?P<exc>\w+Error): (?P<message>.*)", engine)
    assert confirm.search("ValueError: café".encode(), 12) == {"exc": "ValueError", "message": "café"}


@ENGINES
def test_groups_without_part_in_the_match_are_left_out(engine: str) -> None:
    confirm = compile_confirm(r"node (?P<node>\S+)(?: rank (?P<rank>\d+))?", engine)
    assert confirm.search(b"node n1", 7) == {"node": "n1"}


@ENGINES
def test_a_pattern_without_groups_gives_an_empty_mapping(engine: str) -> None:
    assert compile_confirm("needle", engine).search(b"a needle", 8) == {}


@ENGINES
def test_no_match_is_none(engine: str) -> None:
    confirm = compile_confirm("^needle", engine)
    assert confirm.search(b"a needle", 8) is None
    assert confirm.find(b"a needle") is None


@ENGINES
def test_invalid_utf8_is_matched_as_bytes_and_replaced_when_captured(engine: str) -> None:
    confirm = compile_confirm(r"file (?P<name>[^ ]+) missing", engine)
    assert confirm.search(b"file \xff\xfea missing", 5) == {"name": "\ufffd\ufffda"}


@ENGINES
def test_characters_beyond_ascii_in_a_pattern_match_their_utf8(engine: str) -> None:
    assert compile_confirm("größe: (?P<n>.)", engine).search("größe: 3".encode(), 9) == {"n": "3"}


@ENGINES
def test_the_window_of_a_long_segment_is_no_line_start_or_end(engine: str) -> None:
    segment = b"x" * LONG + b"needle" + b"y" * LONG
    for pattern in ("^needle", "needle$", r"\bneedle", r"^x{9}needle"):
        assert compile_confirm(pattern, engine).search(segment, LONG + 6) is None


@ENGINES
def test_a_match_beyond_the_window_of_the_first_hit_is_found(engine: str) -> None:
    segment = b"needle!" + b"x" * LONG + b"needle: 7" + b"y" * LONG
    assert compile_confirm(r"needle: (?P<n>\d)", engine).search(segment, 6) == {"n": "7"}


@ENGINES
def test_a_captured_text_is_cut_to_eight_kibibytes(engine: str) -> None:
    segment = b"x" * LONG + b"needle: " + b"y" * LONG
    assert compile_confirm("needle: (?P<rest>.*)", engine).search(segment, LONG + 6) == {"rest": "y" * 8192}


@ENGINES
def test_find_tells_where_the_match_lies(engine: str) -> None:
    assert compile_confirm("needle", engine).find(b"a needle here") == (2, 8)


def test_look_around_needs_the_python_engine() -> None:
    assert compile_confirm(r"(?<!My)Error\b", "re").search(b"Error", 5) == {}
    with pytest.raises(MatcherError, match=r"does not compile with engine 're2'.*invalid perl operator"):
        compile_confirm(r"(?<!My)Error\b")


def test_a_broken_python_pattern_names_its_fault() -> None:
    with pytest.raises(MatcherError, match="missing \\)"):
        compile_confirm("(open", "re")


def test_a_pattern_that_needs_much_memory_still_compiles() -> None:
    confirm = compile_confirm("(?:" + "|".join(f"word{n}[a-z]{{0,20}}" for n in range(200)) + ")")
    assert confirm.search(b"word77abc", 9) == {}


def test_nested_repeats_stay_linear() -> None:
    confirm = compile_confirm(r"(?P<a>(?:a+)+)+b")
    assert confirm.search(b"a" * 20_000, 5) is None
