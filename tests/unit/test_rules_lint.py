"""Every lint check speaks where it should and is silent where it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.lint.model import Severity
from attribution_lib.rules.lint.run import CHECKS, UNUSED_EXCLUSION, lint_folders
from attribution_lib.rules.loader import load_engine
from rules_kit import BASE, SAMPLES, extractor, write

if TYPE_CHECKING:
    from pathlib import Path


def lint(folder: Path, **files: str) -> list[tuple[str, str]]:
    """(check, subject) of every issue."""
    files.setdefault("a_test_toml", SAMPLES)
    path = write(folder, **files)
    return [(issue.check, issue.subject) for issue in lint_folders([path], load_engine([path]))]


def test_sound_rules_have_no_issue(tmp_path: Path) -> None:
    assert lint(tmp_path, a_toml=extractor()) == []


@pytest.mark.parametrize(
    ("match_re", "check"),
    [
        ("it( is|'s) b", "missing-literal"),
        ("(broken|ill)", "missing-literal"),
        (".*it is broken", "loose-start"),
        ("(?:x|.+)it is broken", "loose-start"),
        ("^it is broken", "strict-start"),
        ("(?:(?:interrupted|transferred){0,30}is){0,30} broken", "explosive"),
        ("it is broken since 2026-06-01", "volatile-token"),
        ("it is broken at 0xdeadbeef", "volatile-token"),
        ("node-0012 it is broken", "volatile-token"),
        (r"10\.0\.0\.1 it is broken", "volatile-token"),
        ("pid 912345 it is broken", "volatile-token"),
    ],
)
def test_a_pattern_that_is_costly_or_too_narrow_is_an_issue(tmp_path: Path, match_re: str, check: str) -> None:
    samples = '[[miss]]\nline = "x"\nbecause = "x"\nrule = "R"\n'
    found = [name for name, _ in lint(tmp_path, a_toml=extractor(match_re=match_re), a_test_toml=samples)]
    assert found == sorted([check, "no-hit"])


@pytest.mark.parametrize(
    "match_re", [r"\S+ it is broken", r"127\.0\.0\.1 it is broken", "it is broken (?:a{1,9}){1,9}"]
)
def test_a_bounded_pattern_is_none(tmp_path: Path, match_re: str) -> None:
    samples = '[[miss]]\nline = "broken"\nbecause = "x"\n'
    assert lint(tmp_path, a_toml=extractor(match_re=match_re), a_test_toml=samples) == [("no-hit", "R")]


def test_an_undecided_outcome_that_asks_for_nothing_is_an_issue_where_others_ask(tmp_path: Path) -> None:
    need = '[[needed_evidence]]\nname = "N"\nsource = "syslog"\nbefore = 1\nafter = 1\nwhy = "it would tell"\n'
    assert lint(tmp_path, a_toml=extractor() + need) == []
    issues = lint(tmp_path, a_toml=extractor() + need + 'outcomes = ["communication_failure", "unknown"]\n')
    assert issues == [("nothing-asked-for", "N")]  # an ambiguous one asks for nothing


def test_the_same_pattern_twice_is_an_issue(tmp_path: Path) -> None:
    twin = '[[extractor]]\nname = "T"\nmatch_re = "it is broken"\nemit = { type = "info" }\n'
    found = lint(tmp_path, a_toml=extractor() + twin, a_test_toml=SAMPLES.replace("[[miss", 'also = ["T"]\n[[miss'))
    assert found == [("duplicate-pattern", "T")]


def test_the_same_pattern_for_other_sources_is_none(tmp_path: Path) -> None:
    twin = '[[extractor]]\nname = "T"\nmatch_re = "it is broken"\nemit = { type = "info" }\nsources = ["syslog"]\n'
    found = lint(tmp_path, a_toml=extractor(more='sources = ["applog"]\n') + twin)
    assert found == [("no-hit", "T")]


def test_a_rule_without_samples_is_an_issue(tmp_path: Path) -> None:
    assert lint(tmp_path, a_toml=extractor(), a_test_toml="") == [("no-hit", "R"), ("no-miss", "R")]


def test_a_miss_that_is_near_to_nothing_counts_for_no_rule(tmp_path: Path) -> None:
    far = SAMPLES.replace("it was broken", "something else entirely")
    assert lint(tmp_path, a_toml=extractor(), a_test_toml=far) == [("no-miss", "R")]


def test_members_without_a_hit_are_a_warning(tmp_path: Path) -> None:
    family = (
        '[[extractor_family]]\nname = "F"\nmatch_re = "it is {w}"\nemit = { type = "bad_node", symptom = "Broken" }\n'
        'members = [ { id = "a", w = "broken" }, { id = "b", w = "bursting" } ]\n'
    )
    path = write(tmp_path, a_toml=BASE + family, a_test_toml=SAMPLES)
    (issue,) = lint_folders([path], load_engine([path]))
    assert (issue.check, issue.subject, issue.severity) == ("untried-member", "F.b", Severity.WARNING)


def test_an_undeclared_overlap_in_another_source_is_an_issue(tmp_path: Path) -> None:
    other = 'author = "t"\nsources = ["syslog"]\n'
    other += '[[extractor]]\nname = "O"\nmatch_re = "is broken"\nemit = { type = "info" }\n'
    samples = '[[miss]]\nline = "was broken"\nbecause = "x"\n'
    found = lint(tmp_path, a_toml=extractor(), b_toml=other, b_test_toml=samples)
    assert sorted(found) == [("no-hit", "O"), ("overlap", "R")]


def test_a_symptom_that_nothing_emits_is_an_issue(tmp_path: Path) -> None:
    more = BASE.partition("\n")[2].replace("Broken", "Idle").replace('aliases = ["Kaputt"]\n', "")
    assert lint(tmp_path, a_toml=extractor() + more) == [("unreachable-symptom", "Idle")]
    code = '"""Emits Idle."""\n'
    assert lint(tmp_path, a_toml=extractor() + more, c_py=code) == []


def test_symptoms_and_python_rules_need_docs(tmp_path: Path) -> None:
    text = extractor().replace("A part of the node is broken; replace it.", "Broken.")
    code = "from attribution_lib.rule_api import filter_def\n@filter_def('F', 't')\ndef f(context): pass\n"
    assert lint(tmp_path, a_toml=text, c_py=code) == [("missing-docs", "Broken"), ("missing-docs", "F")]


@pytest.mark.parametrize(("outcome", "rank"), [("communication_failure", 450), ("node_down", 700), ("ambiguous", 600)])
def test_a_vague_outcome_must_not_outrank_a_cause(tmp_path: Path, outcome: str, rank: int) -> None:
    text = extractor().replace("gpu_hardware", outcome).replace("900", str(rank))
    assert lint(tmp_path, a_toml=text) == [("rank-band", "Broken")]
    assert lint(tmp_path, a_toml=text.replace("docs =", "root = false\ndocs =")) == []


BENT = """
[[symptom]]
name = "Bent"
outcome = "gpu_driver"
rank = 800
scope = "node"
docs = "It is not straight any more; straighten it."
[[extractor]]
name = "S"
match_re = "it was bent"
emit = { type = "bad_node", symptom = "Bent" }
"""
BENT_SAMPLES = """
[[hit]]
line = "it was bent"
origin = "somewhere"
event = "bad_node"
symptom = "Bent"
[[miss]]
line = "it was sent"
because = "it is straight"
rule = "S"
"""
MUTUAL = """
from attribution_lib.rule_api import cascade
DOCS = "One of the two explains the other one."
cascade("A", author="t", docs=DOCS, causes=["Broken"], consequences=["Bent"], scope="job", order="any")
cascade("B", author="t", docs=DOCS, causes=["Bent"], consequences=["Broken"], scope="job", order="any")
"""


def test_symptoms_that_explain_each_other_are_an_issue(tmp_path: Path) -> None:
    files = {"a_toml": extractor() + BENT, "a_test_toml": SAMPLES + BENT_SAMPLES}
    assert lint(tmp_path, **files, c_py=MUTUAL) == [("mutual-explanation", "B")]
    ordered = MUTUAL.replace('["Broken"], scope="job", order="any"', '["Broken"], scope="job", order="before"')
    assert lint(tmp_path, **files, c_py=ordered) == []


EXCLUSION = '[[exclude]]\ncheck = "no-miss"\nsubject = "R"\nreason = "there is nothing near it"\n'


def test_an_exclusion_with_a_reason_silences_one_issue(tmp_path: Path) -> None:
    found = lint(tmp_path, a_toml=extractor(), a_test_toml="", lint__exclusions_toml=EXCLUSION)
    assert found == [("no-hit", "R")]


def test_an_exclusion_of_a_family_covers_its_members(tmp_path: Path) -> None:
    family = (
        '[[extractor_family]]\nname = "F"\nmatch_re = "^it is {w}"\nemit = { type = "bad_node", symptom = "Broken" }\n'
        'members = [ { id = "a", w = "broken" } ]\n'
    )
    exclusion = EXCLUSION.replace("no-miss", "strict-start").replace('"R"', '"F"')
    assert lint(tmp_path, a_toml=BASE + family) == [("strict-start", "F.a")]
    assert lint(tmp_path, a_toml=BASE + family, lint__exclusions_toml=exclusion) == []


def test_an_exclusion_that_excludes_nothing_is_an_issue(tmp_path: Path) -> None:
    assert lint(tmp_path, a_toml=extractor(), lint__exclusions_toml=EXCLUSION) == [(UNUSED_EXCLUSION, "R")]


def test_an_exclusion_without_a_reason_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, a_toml=extractor(), lint__exclusions_toml=EXCLUSION.replace("reason", "because"))
    with pytest.raises(RuleLoadError, match="reason: is missing"):
        lint_folders([path], load_engine([path]))


def test_checks_have_distinct_ids_and_titles() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.title and check.__doc__ for check in CHECKS)
