"""Lines matched one by one, as authors see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_lib.rules.matching import LineMatcher
from rules_kit import BASE, extractor, load

if TYPE_CHECKING:
    from pathlib import Path


def test_every_line_is_listed_with_what_it_says(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor(match_re=r"it is broken(?P<how> badly)?"))
    lines = list(LineMatcher(engine, Source.APPLOG).lines(b"all well\n[rank3]: it is broken\n\nit is broken badly"))
    assert [(line.line_num, line.line, len(line.events)) for line in lines] == [
        (1, "all well", 0),
        (2, "[rank3]: it is broken", 1),
        (3, "", 0),
        (4, "it is broken badly", 1),
    ]
    (event,) = lines[1].events
    assert (event.rule, event.event_type, event.symptom) == ("R", "Attribution.node.bad", "Broken")
    assert (event.node, event.rank, event.captures) == (None, 3, {})
    assert lines[3].events[0].captures == {"how": " badly"}


def test_pieces_that_carriage_returns_cut_share_a_number(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor())
    lines = list(LineMatcher(engine, Source.APPLOG).lines(b"10%\rit is broken\nend"))
    assert [(line.line_num, bool(line.events)) for line in lines] == [(1, False), (1, True), (2, False)]


def test_only_rules_of_the_source_look(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor(more='sources = ["syslog"]\n'))
    assert [line.events for line in LineMatcher(engine, Source.APPLOG).lines(b"it is broken")] == [()]
    (line,) = LineMatcher(engine, Source.SYSLOG).lines(b"Jun  1 03:14:02 node-7 kernel: it is broken")
    assert line.events[0].node == "node-7"


def test_what_a_rule_names_wins_over_the_prefix(tmp_path: Path) -> None:
    text = extractor(match_re=r"(?P<node>gpu-\d+) rank (?P<rank>\d+) it is broken")
    (line,) = LineMatcher(load(tmp_path, a_toml=text), Source.APPLOG).lines(b"[rank3]: gpu-12 rank 5 it is broken")
    assert (line.events[0].node, line.events[0].rank) == ("gpu-12", 5)


def test_accumulators_are_left_out(tmp_path: Path) -> None:
    code = (
        "from attribution_lib.rule_api import accumulator_def\n@accumulator_def('Acc', 't', 'it is broken')\n"
        "def make(job, captures, line): return None\n"
    )
    (line,) = LineMatcher(load(tmp_path, a_toml=BASE, f_py=code), Source.APPLOG).lines(b"it is broken")
    assert line.events == ()
