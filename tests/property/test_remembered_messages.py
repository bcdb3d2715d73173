"""What is remembered of a message behind one prefix is what the rules find behind another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest
import re2

from attribution_lib.match.opening import opening_of
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.phases.reading import LineReader
from attribution_lib.phases.refine import CrashLog
from attribution_lib.rules.loader import RuleLoader
from attribution_lib.text.prefix_app import APPLICATION_FORMS
from attribution_lib.text.prefix_forms import Draft
from attribution_lib.text.prefix_system import SYSTEM_FORMS

if TYPE_CHECKING:
    from attribution_lib.phases.sayings import Read
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.plan import ExtractionPlan

_SAMPLES = Path(__file__).parents[2] / "samples" / "lines.tsv"
LINES = [row.split("\t")[2].encode() for row in _SAMPLES.read_text(encoding="utf-8").splitlines()[1:]]
PREFIXES = (
    b"",
    b"12: ",
    b"[rank3]: ",
    b"[rank3]: RuntimeError: ",
    b"[ 5234.123456] ",
    b"node-0007 kernel: ",
    b"Jun  3 03:14:02 node-0007 kernel: NVRM: ",
    b"2026-06-01T03:14:02.000000+00:00 node-0001 kernel: ",
    b"2026-06-01T03:14:03.000000+00:00 node-0002 kernel: ",
    b"2026-06-01 03:14:02,123 ERROR ",
    "café 12 ".encode(),
    b"\xff ",
)


@pytest.fixture(scope="module")
def engine() -> RuleEngine:
    loader = RuleLoader()
    loader.load_all()
    return loader.build()


def _told(read: Read) -> tuple[object, ...]:
    said = [(each.planned.name, each.captures, each.placed, each.payload_of(), each.key_fields) for each in read.said]
    return (read.prefix, read.text, said) if said else ()


def _hits(plan: ExtractionPlan, line: bytes) -> list[tuple[int, int]]:
    return [(hit.pattern, hit.hit_end) for hit in plan.matcher.scan(line)]


@pytest.mark.parametrize("memory", [4_096, 32], ids=["that holds all", "that fills up, rests and begins again"])
@pytest.mark.parametrize("source", TEXT_SOURCES)
def test_a_reader_with_a_memory_reads_what_one_without_reads(engine: RuleEngine, source: Source, memory: int) -> None:
    plan = engine.plans.of(source)
    pick = random.Random(3)  # noqa: S311 -- wanted: the same every time
    lines = [prefix + line for line in pick.sample(LINES, 250) for prefix in PREFIXES]
    remembering = LineReader(plan, CrashLog(), worthwhile=1, memory=memory)
    for line in lines:
        hits = _hits(plan, line)
        if hits:
            assert _told(remembering.read(line, hits)) == _told(LineReader(plan, CrashLog()).read(line, hits)), line


class _Watched(Draft):
    """Notes what forms look at."""

    looked_at: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> object:
        _Watched.looked_at.add(name)
        return super().__getattribute__(name)


def test_which_form_comes_next_depends_on_nothing_of_a_draft_but_where_it_stands() -> None:
    """What is remembered of a message tells that no form fits it, wherever a draft stands alike."""
    for line in (prefix.decode("utf-8", "replace") + line.decode() for line in LINES for prefix in PREFIXES[1:10:2]):
        for form in (*SYSTEM_FORMS, *APPLICATION_FORMS):
            found = form.regex.match(line) if form.accept is not None else None
            if found is not None and form.accept is not None:
                form.accept(found, _Watched(Source.SYSLOG))
    of_a_reader, asked_of_a_first_form_only = {"source"}, {"forms"}
    stands = {"program", "task", "rank", "clock", "stamped", "labelled"}
    assert {"program", "clock"} <= _Watched.looked_at <= stands | of_a_reader | asked_of_a_first_form_only


def test_no_match_begins_where_an_opening_says_that_none_does(engine: RuleEngine) -> None:
    pick = random.Random(5)  # noqa: S311 -- wanted: the same every time
    told = 0
    for rule in engine.text_rules:
        opening = opening_of([(rule.match_re, rule.engine)])
        for line in pick.sample(LINES, 40) if opening is not None else ():
            text = pick.choice(PREFIXES) + line
            found = re2.search(rule.match_re.encode(), text)
            for offset in range(len(text) if found else 0):
                if opening is not None and opening.lies_behind(text, offset):
                    told += 1
                    assert found.start() > offset, (rule.match_re, text, offset)
    assert told


@pytest.mark.parametrize("pattern", ["(?:a|^)b+", r"\d{3} bytes", ".*Error", "[a-z]+: failed", "ab"])
def test_a_pattern_that_may_begin_with_anything_has_no_opening(pattern: str) -> None:
    assert opening_of([(pattern, "re2"), ("Xid \\(", "re2")]) is None


def test_a_pattern_that_looks_behind_has_no_opening() -> None:
    assert opening_of([("(?<!not )broken", "re")]) is None
