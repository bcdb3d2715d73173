"""Which form a line begins with does not depend on whether the forms were tried one by one or by one pattern."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.observation import TEXT_SOURCES
from attribution_lib.text.prefix_app import APPLICATION_FORMS
from attribution_lib.text.prefix_forms import Draft, Form, Forms
from attribution_lib.text.prefix_system import SYSTEM_FORMS

if TYPE_CHECKING:
    from attribution_lib.observation import Source

ALL = (*SYSTEM_FORMS, *APPLICATION_FORMS)
_GOLDEN = Path(__file__).parents[1] / "unit" / "data" / "prefix_lines.tsv"
LINES = [row.split("\t")[2].replace("▶", "") for row in _GOLDEN.read_text(encoding="utf-8").splitlines()[1:]]
ONE_BY_ONE = Forms(ALL, worthwhile=1 << 40)
JOINED = Forms(ALL, worthwhile=0)


def _first(forms: Forms, line: str, start: int, draft: Draft) -> tuple[Form, tuple[tuple[int, int], ...]] | None:
    found = forms.first(line, start, draft)
    return None if found is None else (found[0], found[1].regs)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A real line with some of its characters replaced, cut or followed by another one."""
    line = draw(st.sampled_from(LINES))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, min(len(line), 60)))
        line = line[:at] + draw(st.sampled_from([*"0129 :[]().-/aIZ", "", "12:", "[rank3]: "])) + line[at + 1 :]
    return line[draw(st.integers(0, 3)) :] + draw(st.sampled_from(["", *LINES[:20]]))


@settings(max_examples=400, deadline=None)
@given(lines(), st.integers(0, 12), st.sampled_from([None, "srun"]), st.sampled_from(TEXT_SOURCES))
def test_both_ways_find_the_same_form_at_the_same_place(
    line: str, start: int, program: str | None, source: Source
) -> None:
    draft = Draft(source, program=program)
    assert _first(JOINED, line, start, draft) == _first(ONE_BY_ONE, line, start, draft)


def test_every_golden_line_has_the_same_form_either_way() -> None:
    for line in LINES:
        for source in TEXT_SOURCES:
            assert _first(JOINED, line, 0, Draft(source)) == _first(ONE_BY_ONE, line, 0, Draft(source))
