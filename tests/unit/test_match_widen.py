"""The form in which a pattern is handed to the accelerator."""

import pytest

from attribution_lib.match.pattern import superset
from attribution_lib.match.syntax import UnsupportedSyntaxError


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(r"(?P<what>fatal)Error", "fatalError", id="captures are dropped"),
        pytest.param(r"prefix(?P<rest>.*)", "prefix", id="a trailing .* is cut"),
        pytest.param(r"prefix.*$", "prefix", id="a trailing .*$ is cut"),
        pytest.param(r"prefix(?:x(?P<rest>.+))?$", "prefix", id="an optional tail is cut"),
        pytest.param(r"code(\d+)", "code[0-9]", id="a trailing repeat reports once"),
        pytest.param(r"code\d+$", "code[0-9]+$", id="a line end after digits stays"),
        pytest.param(r"^(?:.*?:\s)?ValueError", "ValueError", id="the loss case starts at its literal"),
        pytest.param(r"(?:^|[\s:\]])KeyError", "KeyError", id="the anchor class is cut"),
        pytest.param(r"^Aborted", "^Aborted", id="a line start before a literal stays"),
        pytest.param(r"\s*indented", "indented", id="an optional start is cut"),
        pytest.param(r"a.*BusError", "BusError", id="a weak start before a gap is cut"),
        pytest.param(r"longname.*end", "longname.*end", id="a strong start stays"),
        pytest.param(r"(?:red|blue)lamp(?:s.*)?", "(?:red|blue)lamp", id="alternatives stay"),
        pytest.param(r"head.{0,200}tail", "head.*tail", id="large counts are opened"),
        pytest.param(r"word[0-9a-f]{40}x", "word[0-9a-f]{16,}x", id="large minimums are opened"),
        pytest.param(r"(?i)oom!", r"[Oo][Oo][Mm]\x21", id="case is spelt out"),
        pytest.param(r"\d{3}ab", "[0-9]{3}ab", id="a short literal keeps its neighbours"),
    ],
)
def test_superset(pattern: str, expected: str) -> None:
    """Golden forms: when they change, so must the count in ``match.database``, or old databases stay in use."""
    assert superset(pattern) == expected


@pytest.mark.parametrize("pattern", ["", ".*", "(?:a|b*)", r"^\s*", "a?$"])
def test_what_every_line_holds_cannot_be_looked_for(pattern: str) -> None:
    with pytest.raises(UnsupportedSyntaxError, match="requires nothing"):
        superset(pattern)


def test_what_no_line_holds_cannot_be_looked_for() -> None:
    with pytest.raises(UnsupportedSyntaxError, match="line end"):
        superset(r"two\nlines")
