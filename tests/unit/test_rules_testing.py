"""The tests beside the rules: four words, exact sets, todos that must fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.loader import load_engine
from attribution_lib.rules.testing import SampleRunner, Word, collect_samples
from rules_kit import extractor, write

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.testing import SampleResult

OTHER = """author = "tests"
[[extractor]]
name = "Other"
match_re = "is broken again"
emit = { type = "info" }
"""
HIT = '[[hit]]\nline = "it is broken"\norigin = "somewhere"\nevent = "bad_node"\nsymptom = "Broken"\n'
MISS = '[[miss]]\nline = "it was broken"\nbecause = "it is whole now"\n'


def run(folder: Path, samples: str, rules: str | None = None, only: str = "") -> list[SampleResult]:
    """The results of ``a.test.toml`` beside ``a.toml`` (rule R) and ``b.toml`` (rule Other)."""
    path = write(
        folder, a_toml=rules or extractor(match_re="it is broken(?P<how> .*)?"), b_toml=OTHER, a_test_toml=samples
    )
    engine = load_engine([path])
    return list(SampleRunner(engine).run(collect_samples([path], engine), only=only))


def one(folder: Path, samples: str, rules: str | None = None) -> SampleResult:
    """The only result."""
    (result,) = run(folder, samples, rules)
    return result


def test_a_hit_and_a_quiet_miss_pass(tmp_path: Path) -> None:
    hit, miss = run(tmp_path, HIT + MISS)
    assert (hit.word, hit.passed, hit.rule, str(hit.location)) == (Word.HIT, True, "R", "rules/a.test.toml:1")
    assert (miss.word, miss.passed, miss.problems) == (Word.QUIET, True, ())


def test_an_alias_may_be_expected(tmp_path: Path) -> None:
    assert one(tmp_path, HIT.replace("Broken", "Kaputt")).passed


def test_a_line_that_fires_nothing_is_missing(tmp_path: Path) -> None:
    result = one(tmp_path, HIT.replace("it is broken", "fine"))
    assert (result.word, result.passed) == (Word.MISSING, False)
    assert result.problems == ("no rule of rules/a.py or rules/a.toml fired",)


def test_a_miss_that_fires_is_noisy(tmp_path: Path) -> None:
    result = one(tmp_path, MISS.replace("it was", "it is"))
    assert (result.word, result.passed) == (Word.NOISY, False)
    assert "R fired too (Broken)" in result.problems[0]


def test_another_rule_on_a_hit_is_noisy_unless_named(tmp_path: Path) -> None:
    both = HIT.replace("it is broken", "it is broken again")
    assert (one(tmp_path, both).word, one(tmp_path, both).passed) == (Word.NOISY, False)
    assert one(tmp_path, both + 'also = ["Other"]\n').passed


def test_a_rule_named_in_also_must_fire(tmp_path: Path) -> None:
    result = one(tmp_path, HIT + 'also = ["Other"]\n')
    assert not result.passed
    assert "also names Other, which did not fire" in result.problems


@pytest.mark.parametrize(
    ("addition", "problem"),
    [
        ('captures = { how = " badly" }\n', "R: capture how is None, expected ' badly'"),
        ('node = "n1"\n', "R: node is '', expected 'n1'"),
        ("rank = 3\n", "R: rank is None, expected 3"),
        ('device = "0"\n', "R: device is '', expected '0'"),
        ('rule = "Other"\n', "no rule of rules/a.py or rules/a.toml fired"),
    ],
)
def test_what_else_a_hit_expects_is_compared(tmp_path: Path, addition: str, problem: str) -> None:
    result = one(tmp_path, HIT + addition)
    assert result.word is Word.MISSING
    assert problem in result.problems


def test_a_place_from_the_prefix_is_compared_too(tmp_path: Path) -> None:
    line = HIT.replace("it is broken", "Jun  1 03:14:02 n1 kernel: it is broken")
    assert one(tmp_path, 'source = "syslog"\n' + line + 'node = "n1"\n').passed


def test_another_event_or_symptom_is_missing(tmp_path: Path) -> None:
    result = one(tmp_path, HIT.replace("bad_node", "info").replace('symptom = "Broken"\n', ""))
    assert result.problems == (
        "R: event is 'Attribution.node.bad', expected 'Attribution.job.info'",
        "R: symptom is 'Broken', expected None",
    )


def test_a_todo_is_known_to_fail(tmp_path: Path) -> None:
    hit, miss = run(
        tmp_path,
        HIT.replace("it is broken", "fine").replace("[[hit", "[[todo_hit")
        + MISS.replace("it was", "it is").replace("[[miss", "[[todo_miss"),
    )
    assert (hit.word, hit.passed, hit.todo) == (Word.MISSING, True, True)
    assert (miss.word, miss.passed, miss.todo) == (Word.NOISY, True, True)


def test_a_todo_that_passes_must_be_promoted(tmp_path: Path) -> None:
    hit, miss = run(tmp_path, (HIT + MISS).replace("[[", "[[todo_"))
    assert (hit.passed, miss.passed) == (False, False)
    assert hit.problems == ("passes by now: make it a [[hit]]",)
    assert miss.problems == ("passes by now: make it a [[miss]]",)


def test_samples_can_be_chosen_by_file_or_rule(tmp_path: Path) -> None:
    assert len(run(tmp_path, HIT + MISS, only="a.test")) == 2
    assert len(run(tmp_path, HIT + MISS, only="R")) == 1
    assert run(tmp_path, HIT + MISS, only="nothing") == []


def test_the_source_of_samples_is_that_of_the_rules(tmp_path: Path) -> None:
    rules = 'sources = ["syslog"]\n' + extractor()
    assert one(tmp_path, HIT, rules).passed


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (HIT.replace('origin = "somewhere"\n', ""), "a.test.toml:1 [[hit]] origin: is missing"),
        (MISS.replace("because", "cause"), "a.test.toml:1 [[miss]] because: is missing"),
        (HIT.replace("bad_node", "bad"), "a.test.toml:4 [[hit]] event: is 'bad'; expected one of bad_node"),
        (HIT + 'source = "node_metrics"\n', "a.test.toml:6 [[hit]] source: is 'node_metrics'"),
        (HIT + "colour = 1\n", "a.test.toml:6 [[hit]] colour: unknown key"),
        ("[[hitt]]\n", "a.test.toml:1 hitt: unknown key"),
        ('[[sequence]]\norigin = "x"\nlines = []\nexpect = { outcome = "x" }\n', "lines: is missing or empty"),
        ('[[sequence]]\norigin = "x"\nlines = ["x"]\nexpect = { colour = "x" }\n', "unknown key 'colour'"),
        ('[[sequence]]\norigin = "x"\nlines = ["x"]\nexpect = {}\n', "expect: is empty"),
        ('[[sequence]]\norigin = "x"\nlines = ["x"]\nexpect = { rank = "1" }\n', "rank is '1'; expected a int"),
        ('[[sequence]]\norigin = "x"\nlines = [{ lin = "x" }]\nexpect = { rank = 1 }\n', "line: is missing"),
    ],
)
def test_faulty_samples_are_refused(tmp_path: Path, samples: str, expected: str) -> None:
    path = write(tmp_path, a_toml=extractor(), a_test_toml=samples)
    with pytest.raises(RuleLoadError) as caught:
        collect_samples([path], load_engine([path]))
    assert any(expected in str(fault) for fault in caught.value.faults), caught.value


def test_samples_stand_beside_rules(tmp_path: Path) -> None:
    path = write(tmp_path, a_toml=extractor(), z_test_toml=HIT)
    with pytest.raises(RuleLoadError, match="stands beside no rule file"):
        collect_samples([path], load_engine([path]))
