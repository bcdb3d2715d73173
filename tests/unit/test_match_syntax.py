"""What the reader of pattern syntax makes of it, seen through the wider pattern derived from it."""

import re

import pytest

from attribution_lib.match.pattern import superset
from attribution_lib.match.syntax import Assertion, Repeat, Sequence, UnsupportedSyntaxError, parse


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?P<a>x+)(?<b>y)(?:z)", b"xyz"),
        (r"a{2}b{1,}c{0,2}d", b"aabccd"),
        (r"lazy.*?end", b"lazy  end"),
        (r"\x41\x{42}\t\.\101", b"AB\t.A"),
        (r"\0\011x", b"\x00\tx"),
        (r"[]a]+x", b"]ax"),
        (r"[^\]a-c-]x", b"dx"),
        (r"[\d\-_]+x", b"1-_x"),
        (r"[[:alpha:][:^digit:]]x", b"ax"),
        (r"\Qa.b*\E+c", b"a.b**c"),
        (r"\Qa.b", b"a.b"),
        (r"brace{x}{,3}", b"brace{x}{,3}"),
        (r"(?i)Foo(?-i)Bar", b"fOOBar"),
        (r"(?i:foo)bar", b"FOObar"),
        (r"(?s)a.b(?m)$", b"a\x00b"),
        (r"caf\Cé", "cafXé".encode()),
        (r"ümlaut", "ümlaut".encode()),
        (r"\D\W\S", b"a-b"),
        (r"\Astart.*end\z", b"start end"),
        (r"\bword\B", b"words"),
    ],
)
def test_a_text_of_the_pattern_is_found_by_the_derived_one(pattern: str, text: bytes) -> None:
    assert re.search(superset(pattern).encode(), text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?=look)ahead", b"ahead"),
        (r"(?!no)(?<!no)(?<=yes)ahead", b"ahead"),
        (r"(a)\1 end", b"aa end"),
        (r"(?P<x>a)(?P=x) end", b"aa end"),
        (r"(?>atomic)++ end", b"atomic end"),
        (r"(?#a remark)text{,2}", b"text"),
        (r"(?a)text\Z", b"text"),
    ],
)
def test_constructs_of_python_may_only_widen(pattern: str, text: bytes) -> None:
    assert re.search(superset(pattern, "re").encode(), text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL",
        r"(?x)a b",
        r"(unclosed",
        r"closed)",
        r"[open",
        r"a\x{20AC}",
        r"\xZZ",
        r"+a",
        "\\",
        r"(?P<open",
        r"[[:nope:]]",
        r"\k",
        "(" * 200 + ")" * 200,
    ],
)
def test_unknown_constructs_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedSyntaxError):
        parse(pattern)


@pytest.mark.parametrize("pattern", [r"(?(1)a|b)", r"[[:alpha:]]x", r"\Qa\E", r"[\1]"])
def test_constructs_that_python_reads_otherwise_are_refused_for_it(pattern: str) -> None:
    with pytest.raises(UnsupportedSyntaxError):
        parse(pattern, "re")


def test_an_empty_pattern_is_an_empty_sequence() -> None:
    assert parse("") == Sequence()


def test_line_start_and_text_start_are_the_same() -> None:
    assert parse("^") == parse(r"\A") == Assertion.LINE_START


def test_whitespace_covers_every_engine_and_its_negation_too() -> None:
    wide, negated = superset(r"ab\stext").encode(), superset(r"ab[^\s]text").encode()
    assert re.search(wide, b"ab\vtext")
    assert re.search(negated, b"ab\vtext")
    assert not re.search(negated, b"ab text")


def test_dot_and_negated_classes_never_cross_a_line_end() -> None:
    assert not re.search(superset(r"left[^x]right").encode(), b"left\nright")
    assert not re.search(superset(r"longer.+right").encode(), b"longer\nright")
    assert not re.search(superset(r"longer[\n\r]right").encode(), b"longer\nright")


def test_a_quantifier_in_braces_keeps_its_bounds() -> None:
    repeated = parse("a{2,5}")
    assert isinstance(repeated, Repeat)
    assert (repeated.low, repeated.high) == (2, 5)
