"""Kept loads: an engine made of one is the engine of the files; whatever does not fit is as if it were not there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import attribution_lib
from attribution_lib.attributor import Attributor
from attribution_lib.errors import RuleLoadError
from attribution_lib.kept_files import KeptFiles
from attribution_lib.rules.loader import load_engine
from attribution_lib.rules.locking import lock_of
from attribution_lib.rules.reference import rules_page, symptoms_page
from rules_kit import BASE, extractor, told, write
from sample_cases import SPREAD, attribute, evidence_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.rules.engine import RuleEngine

FILTER = """
from attribution_lib.rule_api import decoder_def, filter_def, symptom_def
symptom_def("Bent", outcome="gpu_hardware", rank=901, scope="node", docs="A part is bent.")
@filter_def("Waits", "tests")
def waits(context):
    'Does nothing.'
@decoder_def("twice")
def twice(captures):
    return {name: text * 2 for name, text in captures.items()}
"""
CATALOG = """[[extractor_catalog]]
name = "C"
match_re = '''code (?P<code>\\d+)'''
catalog = "catalogs/c.csv"
keys = ["code"]
decode = "twice"
emit = { type = "{event}", symptom = "Broken" }
"""
TABLE = "code,event\n11,bad_node\n22,info\n"
METRIC = """[[metric_extractor]]
name = "M"
metric = "m"
reduce = "max"
op = ">"
value = 1
window = "5m"
for_models = ["H100"]
labels = { device = ["eth*", "ib*"] }
emit = { type = "interesting_node", symptom = "Bent", payload = { unit = "C" } }
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A rules folder with one of every kind of declaration."""
    return write(tmp_path, a_toml=extractor() + CATALOG + METRIC, b_py=FILTER, catalogs__c_csv=TABLE)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where loads are kept."""
    return tmp_path / "kept"


def loads(kept: Path) -> dict[str, bytes]:
    """The kept loads by file name."""
    return {file.name: file.read_bytes() for file in kept.glob("*.rules")}


def patterns(engine: RuleEngine) -> list[str]:
    """Of the rules that look at lines."""
    return [rule.match_re for rule in engine.text_rules]


def exchange(kept: Path, other: Path, scratch: Path) -> None:
    """Put the load of other rules where the kept one lies, as if it were of these."""
    load_engine([other], cache_dir=scratch)
    (name,) = loads(kept)
    (foreign,) = loads(scratch)
    content = KeptFiles(scratch, ".rules", b"attribution rules 1").read(foreign.removesuffix(".rules"))
    assert content is not None
    KeptFiles(kept, ".rules", b"attribution rules 1").write(name.removesuffix(".rules"), content)


def test_the_bundled_rules_are_the_same_from_the_files_and_from_a_kept_load(kept: Path) -> None:
    from_files = load_engine(cache_dir=kept)
    from_kept = load_engine(cache_dir=kept)
    assert told(from_kept) == told(from_files)
    assert lock_of(from_kept) == lock_of(from_files)
    assert rules_page(from_kept) == rules_page(from_files)
    assert symptoms_page(from_kept) == symptoms_page(from_files)


def test_verdicts_are_the_same_with_a_kept_load(kept: Path) -> None:
    load_engine(cache_dir=kept)
    engine = load_engine(cache_dir=kept)
    for case in SPREAD:
        with Attributor(evidence_of(case).job, engine) as attributor:
            attributor.ingest_batch(evidence_of(case).observations)
            assert attributor.attribute() == attribute(evidence_of(case)), case.name


def test_a_kept_load_stands_in_for_the_declarative_files(rules: Path, kept: Path, tmp_path: Path) -> None:
    load_engine([rules], cache_dir=kept)
    other = write(tmp_path / "other", a_toml=extractor(match_re="another"), b_py=FILTER)
    exchange(kept, other, tmp_path / "scratch")
    assert patterns(load_engine([rules], cache_dir=kept)) == ["another"]


def test_without_a_folder_to_keep_loads_in_the_files_are_read(rules: Path, kept: Path) -> None:
    assert told(load_engine([rules])) == told(load_engine([rules], cache_dir=kept))


@pytest.mark.parametrize("name", ["a.toml", "b.py", "catalogs/c.csv"])
def test_a_changed_file_is_another_load(rules: Path, kept: Path, name: str) -> None:
    before = load_engine([rules], cache_dir=kept)
    text = (rules / name).read_text()
    (rules / name).write_text(
        text.replace("A part of the node", "It").replace("A part is", "It is").replace("22", "33")
    )
    after = load_engine([rules], cache_dir=kept)
    assert before.digest != after.digest
    assert told(after) == told(load_engine([rules])) != told(before)
    assert len(loads(kept)) == 2


def test_staged_rules_and_the_name_of_the_folder_count(rules: Path, kept: Path, tmp_path: Path) -> None:
    (rules / "a.toml").write_text('status = "staged"\n' + (rules / "a.toml").read_text())
    load_engine([rules], cache_dir=kept)
    stable = load_engine([rules], cache_dir=kept, include_staged=False)
    assert patterns(stable) == []
    renamed = rules.rename(tmp_path / "mine")
    assert load_engine([renamed], cache_dir=kept).location("R") == "mine/a.toml:10"


def test_other_code_reads_the_files_itself(rules: Path, kept: Path, tmp_path: Path) -> None:
    shutil.copytree(Path(attribution_lib.__file__).parent, tmp_path / "code" / "attribution_lib")
    module = tmp_path / "code" / "attribution_lib" / "rules" / "emits.py"
    module.write_text(module.read_text() + "# changed\n")
    program = "import sys; from pathlib import Path; from attribution_lib.rules.loader import load_engine; "
    program += "load_engine([sys.argv[1]], cache_dir=Path(sys.argv[2]))"
    load_engine([rules], cache_dir=kept)
    subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", program, rules, kept], env={"PYTHONPATH": str(tmp_path / "code")}, check=True
    )
    assert len(loads(kept)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),  # noqa: ARG005 -- same shape as the others
        pytest.param(lambda content: content[: len(content) // 2], id="truncated"),
        pytest.param(lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], id="one bit flipped"),
        pytest.param(lambda content: b"something else\n" + content, id="foreign"),
        pytest.param(lambda content: b"\xff" * len(content), id="noise"),
    ],
)
def test_a_damaged_load_is_made_again(rules: Path, kept: Path, damage: Callable[[bytes], bytes]) -> None:
    engine = load_engine([rules], cache_dir=kept)
    ((name, whole),) = loads(kept).items()
    (kept / name).write_bytes(damage(whole))
    assert told(load_engine([rules], cache_dir=kept)) == told(engine)
    assert loads(kept) == {name: whole}


def test_a_load_of_another_key_is_not_used(rules: Path, kept: Path) -> None:
    load_engine([rules], cache_dir=kept)
    ((name, whole),) = loads(kept).items()
    (rules / "a.toml").write_text(extractor(match_re="changed"))
    load_engine([rules], cache_dir=kept)
    (changed,) = loads(kept).keys() - {name}
    (kept / changed).write_bytes(whole)
    assert patterns(load_engine([rules], cache_dir=kept)) == ["changed"]


@pytest.mark.parametrize("content", [b"\x90", b"\x95\x90\x90\x90\x90\x91\x01", b"no rules"])
def test_a_whole_file_that_holds_no_load_is_made_again(rules: Path, kept: Path, content: bytes) -> None:
    engine = load_engine([rules], cache_dir=kept)
    ((name, whole),) = loads(kept).items()
    KeptFiles(kept, ".rules", b"attribution rules 1").write(name.removesuffix(".rules"), content)
    assert told(load_engine([rules], cache_dir=kept)) == told(engine)
    assert loads(kept) == {name: whole}


@pytest.mark.parametrize(
    ("declared", "instead"), [('filter_def("Waits"', 'filter_def("Sleeps"'), ('"twice"', '"thrice"')]
)
def test_a_load_that_does_not_go_with_the_python_files_is_not_used(
    rules: Path, kept: Path, tmp_path: Path, declared: str, instead: str
) -> None:
    engine = load_engine([rules], cache_dir=kept)
    texts = [text.replace(declared, instead) for text in ((rules / "a.toml").read_text(), FILTER)]
    other = write(tmp_path / "other", a_toml=texts[0], b_py=texts[1], catalogs__c_csv=TABLE)
    exchange(kept, other, tmp_path / "scratch")
    assert told(load_engine([rules], cache_dir=kept)) == told(engine)


def test_a_python_file_runs_at_every_start_and_its_faults_are_told(rules: Path, kept: Path, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    (rules / "c.py").write_text(f"import os\nassert not os.path.exists({str(flag)!r})\n")
    load_engine([rules], cache_dir=kept)
    flag.touch()
    with pytest.raises(RuleLoadError, match=r"rules/c\.py:2: cannot be executed: AssertionError"):
        load_engine([rules], cache_dir=kept)


def _refused(paths: list[Path], kept: Path | None) -> list[str]:
    with pytest.raises(RuleLoadError) as caught:
        load_engine(paths, cache_dir=kept)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize("name", ["a.toml", "b.py", "catalogs/c.csv", "d.toml"])
def test_faults_are_told_as_if_nothing_were_kept(rules: Path, kept: Path, name: str) -> None:
    load_engine([rules], cache_dir=kept)
    (rules / name).write_text(BASE + "[[nonsense]]\n")
    assert _refused([rules], kept) == _refused([rules], None)
    assert len(loads(kept)) == 1


def test_a_folder_that_is_gone_is_no_empty_folder(tmp_path: Path, kept: Path) -> None:
    empty = tmp_path / "rules"
    empty.mkdir()
    assert load_engine([empty], cache_dir=kept).rule_count == 0
    empty.rmdir()
    assert _refused([empty], kept) == _refused([empty], None)


def test_a_catalogue_that_cannot_be_read_any_more_is_a_fault(rules: Path, kept: Path) -> None:
    load_engine([rules], cache_dir=kept)
    (rules / "catalogs" / "c.csv").unlink()
    (rules / "catalogs" / "c.csv").mkdir()
    assert _refused([rules], kept) == _refused([rules], None)


def test_a_folder_whose_name_is_no_text_is_loaded_each_time(tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / os.fsdecode(b"rules-\xff")
    write(tmp_path, a_toml=extractor()).rename(folder)
    engine = load_engine([folder], cache_dir=kept)
    assert told(load_engine([folder], cache_dir=kept)) == told(engine)
    assert loads(kept) == {}


def test_old_loads_are_removed(tmp_path: Path, kept: Path) -> None:
    for number in range(12):
        load_engine([write(tmp_path, a_toml=extractor(match_re=f"number {number}"))], cache_dir=kept)
    assert len(loads(kept)) == 8
