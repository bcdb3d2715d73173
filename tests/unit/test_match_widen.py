"""The form in which a pattern is handed to the accelerator."""

import pytest

from attribution_lib.match.pattern import superset
from attribution_lib.match.syntax import UnsupportedSyntaxError


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(r"(?P<what>fatal)Fault: .*", r"fatalFault\x3a\x20", id="captures and tails are dropped"),
        pytest.param(r"^(?:.*?:\s)?BadValueError: ", r"BadValueError\x3a\x20", id="the loss case becomes its literal"),
        pytest.param(r"(?:red|blue)lamp (?:on|off)x", None, id="alternatives are spelt out"),
        pytest.param(
            r"peer \d+ went astray at \S+", r"\x20went\x20astray\x20at\x20", id="the longest literal is taken"
        ),
        pytest.param(
            r"runtime error: .*zebrafish",
            "zebrafish",
            id="a telling literal is preferred to words that logs are full of",
        ),
        pytest.param(r"(?i:Zebra)fish", "[Zz][Ee][Bb][Rr][Aa]fish", id="case is spelt out"),
        pytest.param(r"[Zz]ebrafish-?head", None, id="optional letters are spelt out"),
        pytest.param(r"zebrafish$|giraffe-neck.*$", r"giraffe\x2dneck|zebrafish", id="each option has its literal"),
    ],
)
def test_a_pattern_with_a_telling_literal_becomes_that_literal(pattern: str, expected: str | None) -> None:
    """Golden forms: when they change, so must the count in ``match.database``, or old databases stay in use."""
    spelt_out = {
        r"(?:red|blue)lamp (?:on|off)x": r"bluelamp\x20offx|bluelamp\x20onx|redlamp\x20offx|redlamp\x20onx",
        r"[Zz]ebrafish-?head": r"[Zz]ebrafish\x2dhead|[Zz]ebrafishhead",
    }
    assert superset(pattern) == (expected or spelt_out[pattern])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(r"abc(?P<rest>.*)", "abc", id="a trailing .* is cut"),
        pytest.param(r"abc.*$", "abc", id="a trailing .*$ is cut"),
        pytest.param(r"abc(?:x(?P<rest>.+))?$", "abc", id="an optional tail is cut"),
        pytest.param(r"code(\d+)", "code[0-9]", id="a trailing repeat reports once"),
        pytest.param(r"code\d+$", "code[0-9]+$", id="a line end after digits stays"),
        pytest.param(r"^(?:.*?:\s)?Xid", "Xid", id="an optional start is cut with its anchor"),
        pytest.param(r"(?:^|[\s:\]])OOM", "OOM", id="an anchor class is cut"),
        pytest.param(r"^Aborted", "^Aborted", id="a line start before a literal stays"),
        pytest.param(r"(?:^|x)a{2}(?:$|y)b", "a{2}(?:|y)b", id="a line end within a pattern is dropped"),
        pytest.param(r"x(?:^|y)ab", "x(?:|y)ab", id="a line start within a pattern is dropped"),
        pytest.param(r"\s*indent", "indent", id="an optional start is cut"),
        pytest.param(r"a.*BusErr", "BusErr", id="a weak start before a gap is cut"),
        pytest.param(r"system.*end", "system.*end", id="a strong start stays"),
        pytest.param(r"(?:red|blue)la(?:s.*)?", "(?:red|blue)la", id="alternatives stay"),
        pytest.param(r"head.{0,200}tail", "head.*tail", id="large counts are opened"),
        pytest.param(r"word[0-9a-f]{40}x", "word[0-9a-f]{16,}x", id="large minimums are opened"),
        pytest.param(r"(?i)oom!", r"[Oo][Oo][Mm]\x21", id="case is spelt out"),
        pytest.param(r"\d{3}ab", "[0-9]{3}ab", id="a short literal keeps its neighbours"),
    ],
)
def test_a_pattern_without_a_telling_literal_is_trimmed(pattern: str, expected: str) -> None:
    """Golden forms, likewise."""
    assert superset(pattern) == expected


@pytest.mark.parametrize("pattern", ["", ".*", "(?:a|b*)", r"^\s*", "a?$"])
def test_what_every_line_holds_cannot_be_looked_for(pattern: str) -> None:
    with pytest.raises(UnsupportedSyntaxError, match="requires nothing"):
        superset(pattern)


def test_what_no_line_holds_cannot_be_looked_for() -> None:
    with pytest.raises(UnsupportedSyntaxError, match="line end"):
        superset(r"a\nb")
