"""Lock, reference pages, scaffold and comparison of rule sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from attribution_lib.observation import Source
from attribution_lib.rules.description import describe
from attribution_lib.rules.diffing import SymptomChange, compare_symptoms
from attribution_lib.rules.loader import load_engine
from attribution_lib.rules.locking import LockChange, compare_locks, lock_of, read_lock, render_lock
from attribution_lib.rules.reference import rules_page, symptoms_page
from attribution_lib.rules.scaffold import scaffold_rule
from attribution_lib.rules.testing import SampleRunner, collect_samples
from rules_kit import BASE, extractor, load, write

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.locking import LockEntry

CODE = '''
from attribution_lib.rule_api import filter_def
@filter_def("F", "tests")
def f(context):
    """Does nothing at all."""
    x = 1
'''


def lock(folder: Path, **files: str) -> dict[str, LockEntry]:
    """The lock of these files."""
    path = write(folder, **files)
    return lock_of(load_engine([path]), [path])


def test_the_lock_pins_behaviour_and_ignores_prose(tmp_path: Path) -> None:
    first = lock(tmp_path / "1", a_toml=extractor(), f_py=CODE)
    prose = lock(
        tmp_path / "2",
        a_toml="# a comment\n" + extractor().replace("replace it", "swap it").replace('"tests"', '"me"'),
        f_py=CODE.replace("at all", "whatever"),
    )
    assert first == prose
    assert set(first) == {"R", "F"}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("it is broken", "it was broken", "R"),
        ("rank = 900", "rank = 901", "R"),
        ('emit = { type = "bad_node"', 'emit = { type = "interesting_node"', "R"),
    ],
)
def test_the_lock_notices_what_changes_a_verdict(tmp_path: Path, old: str, new: str, rule: str) -> None:
    before, after = lock(tmp_path / "1", a_toml=extractor()), lock(tmp_path / "2", a_toml=extractor().replace(old, new))
    assert compare_locks(before, after) == [LockChange("unversioned", rule)]


def test_the_lock_notices_code_and_shared_code(tmp_path: Path) -> None:
    before = lock(tmp_path / "1", f_py=CODE, common__x_py="A = 1")
    assert compare_locks(before, lock(tmp_path / "2", f_py=CODE.replace("x = 1", "x = 2"), common__x_py="A = 1"))
    assert compare_locks(before, lock(tmp_path / "3", f_py=CODE, common__x_py="A = 2"))


def test_a_new_version_is_a_change_by_right(tmp_path: Path) -> None:
    before = lock(tmp_path / "1", a_toml=extractor())
    after = lock(tmp_path / "2", a_toml=extractor(match_re="it was broken", more="version = 2\n"), f_py=CODE)
    assert compare_locks(before, after) == [LockChange("added", "F"), LockChange("changed", "R")]
    assert compare_locks(after, {}) == [LockChange("removed", "F"), LockChange("removed", "R")]


def test_a_lock_file_reads_as_it_was_written(tmp_path: Path) -> None:
    found = lock(tmp_path, a_toml=extractor(), f_py=CODE)
    assert read_lock(render_lock(found)) == found
    assert render_lock(found).count("\n") == 4


@pytest.mark.parametrize("text", ["[]", '{"R": 1}', '{"R": {"version": 1}}', "nonsense"])
def test_another_file_is_no_lock(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no rule lock|Expecting value"):
        read_lock(text)


def test_the_pages_name_every_rule_and_symptom(tmp_path: Path) -> None:
    family = (
        '[[extractor_family]]\nname = "Fam"\nmatch_re = "very {w}"\nemit = { type = "bad_node", symptom = "Broken" }\n'
        'members = [ { id = "a", w = "ill|sick" }, { id = "b", w = "dead" } ]\n'
    )
    engine = load(tmp_path, a_toml=extractor() + family, f_py=CODE)
    rules, symptoms = rules_page(engine), symptoms_page(engine)
    assert "| `Fam` (2 members) | family | stable | applog, syslog, scheduler | Broken |" in rules
    assert "| `F` | filter | stable |" in rules
    assert "## gpu_hardware\n\nSub-domain `hardware`." in symptoms
    assert (
        "| **Broken** | 900 | node | A part of the node is broken; replace it. Also: Kaputt. | `Fam`, `R` |" in symptoms
    )
    assert rules.endswith("|\n")
    assert "a.toml:" not in rules


def test_a_rule_a_family_and_a_symptom_can_be_described(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor())
    ((title, facts),) = describe("R", engine)
    assert title == "extractor R"
    assert ("pattern", "it is broken") in facts
    ((title, facts),) = describe("Kaputt", engine)
    assert title == "symptom Broken"
    assert ("rule", "R") in facts
    assert describe("Nobody", engine) == []


LINES = [
    "2026-06-01T03:14:02Z node-0012 kernel: nvme nvme0: I/O 123 QID 4 timeout, aborting (rank 3) at /data/x/y",
    "plain words only, nothing varies here",
    "it's \"quoted\" and has 'three' '''quotes''' [x] (y) {z} a|b $5 ^6 c:\\d",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
    "peer 10.0.0.1:29500 went away after 0xdeadbeefcafe from rank 12 to rank 13",
]


@pytest.mark.parametrize("line", LINES)
def test_a_scaffolded_rule_loads_and_hits_its_line(tmp_path: Path, line: str) -> None:
    scaffold = scaffold_rule("New", line, Source.SYSLOG)
    path = write(tmp_path, a_toml='author = "me"\n' + scaffold.rule, a_test_toml=scaffold.test)
    engine = load_engine([path])
    results = list(SampleRunner(engine).run(collect_samples([path], engine)))
    assert [(result.word, result.passed) for result in results] == [("hit", True), ("quiet", True)]
    assert engine.staged_names == {"New"}


def test_a_scaffold_keeps_words_and_frees_what_varies() -> None:
    scaffold = scaffold_rule("New", LINES[0], Source.SYSLOG).rule
    assert r"nvme nvme0: I/O [\d.]+ QID [\d.]+ timeout, aborting \(rank (?P<rank>\d+)\) at \S+" in scaffold
    assert "2026" not in scaffold


def test_symptoms_of_two_rule_sets_are_compared(tmp_path: Path) -> None:
    more = BASE.partition("[[")[2].replace("Broken", "New").replace('aliases = ["Kaputt"]\n', "")
    before = load(tmp_path / "1", a_toml=BASE).registry
    after = load(tmp_path / "2", a_toml=BASE.replace("900", "910") + "[[" + more).registry
    assert compare_symptoms(before, after) == [
        SymptomChange("changed", "Broken", "rank 900 → 910"),
        SymptomChange("added", "New"),
    ]
    assert compare_symptoms(after, before)[1] == SymptomChange("removed", "New")


def test_locks_are_plain_json(tmp_path: Path) -> None:
    assert json.loads(render_lock(lock(tmp_path, a_toml=extractor())))["R"]["version"] == 1
