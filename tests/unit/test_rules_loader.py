"""Loading: what is accepted, in which order, and that a refusal leaves nothing behind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import attribution_lib
from attribution_lib.errors import RuleLoadError
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.loader import RuleLoader, load_engine
from attribution_lib.rules.model import MetricRule, Reduce, RuleStatus, TextRule
from rules_kit import BASE, extractor, fault, faults, load, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NVRX = """author = "the operators"

[[symptom]]
name = "NVRx synthetic fault injection"
outcome = "injected_fault"
rank = 780
scope = "job"

[[extractor]]
name     = "NVRXInjectedException"
match_re = 'nvidia_resiliency_ext\\.shared_utils\\.inject_fault\\.InjectedException'
emit     = { type = "bad_node", symptom = "NVRx synthetic fault injection" }
"""
METRIC = """
[[metric_extractor]]
name = "node-metric-roce-adp-retrans"
metric = "roce_adp_retrans_total"
reduce = "increase"
window = "5m"
op = ">"
value = 100
for_models = []
emit = { type = "interesting_node", symptom = "Broken" }
"""
FILTER = """
from attribution_lib.rule_api import filter_def, FilterPriority
from common.words import WORD

@filter_def("Later", "tests", priority=FilterPriority.LATE)
def later(context):
    \"\"\"Does nothing, late.\"\"\"

@filter_def("Earlier", "tests", priority=FilterPriority.EARLY + 5, version=len(WORD))
def earlier(context):
    \"\"\"Does nothing, early.\"\"\"
"""


def test_an_extractor_as_the_documentation_shows_it_loads_with_an_author(tmp_path: Path) -> None:
    engine = load(tmp_path, nvrx_leaf_rules_toml=NVRX)
    rule = engine.rule("NVRXInjectedException")
    assert isinstance(rule, TextRule)
    assert rule.provenance.author == "the operators"
    assert str(rule.provenance.location) == "rules/nvrx_leaf_rules.toml:9"
    assert rule.sources == TEXT_SOURCES
    assert rule.emit.symptom == "NVRx synthetic fault injection"


def test_files_are_read_in_order_without_tests_and_without_sub_folders(tmp_path: Path) -> None:
    engine = load(
        tmp_path,
        b_toml=BASE,
        a_toml=extractor().replace(BASE, 'author = "tests"\n'),
        c_test_toml="this is no rule file",
        common__unused_py="raise RuntimeError('only imported')",
        common__x_toml="neither = 'read'",
    )
    assert [rule.name for rule in engine.text_rules] == ["R"]


def test_file_defaults_apply_to_rules_that_do_not_say_otherwise(tmp_path: Path) -> None:
    text = extractor(
        more='[[extractor]]\nname = "S"\nmatch_re = "other"\nemit = { type = "info" }\nauthor = "someone"\n'
    )
    engine = load(tmp_path, a_toml='status = "staged"\nsources = ["syslog"]\nversion = 3\n' + text)
    first, second = (engine.rule(name).provenance for name in "RS")
    assert (first.author, second.author) == ("tests", "someone")
    assert (first.status, first.version) == (RuleStatus.STAGED, 3)
    assert engine.text_rules[0].sources == (Source.SYSLOG,)
    assert engine.staged_names == {"R", "S"}


def test_rules_are_sorted_by_priority_then_name(tmp_path: Path) -> None:
    engine = load(tmp_path, f_py=FILTER, common__words_py="WORD = 'four'")
    assert [rule.provenance.name for rule in engine.filters] == ["Earlier", "Later"]
    assert engine.rule("Earlier").provenance.version == 4


def test_python_rules_leave_nothing_in_the_interpreter(tmp_path: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    load(tmp_path, f_py=FILTER, common__words_py="WORD = 'four'")
    assert sys.path == path
    assert {
        name for name in set(sys.modules) - modules if "words" in name or "common" in name or "rules>" in name
    } == set()


def test_each_load_executes_python_files_afresh(tmp_path: Path) -> None:
    load(tmp_path, f_py=FILTER, common__words_py="WORD = 'four'")
    engine = load(tmp_path, common__words_py="WORD = 'longer'")
    assert engine.rule("Earlier").provenance.version == 6


def test_common_is_that_of_its_own_folder(tmp_path: Path) -> None:
    one = write(tmp_path / "one", f_py=FILTER, common__words_py="WORD = 'a'")
    two = write(
        tmp_path / "two", g_py=FILTER.replace("Later", "L2").replace("Earlier", "E2"), common__words_py="WORD = 'bb'"
    )
    engine = load_engine([one, two])
    assert (engine.rule("Earlier").provenance.version, engine.rule("E2").provenance.version) == (1, 2)


def test_a_dataclass_in_a_rule_file_works(tmp_path: Path) -> None:
    code = """
from __future__ import annotations
from dataclasses import dataclass, field
from attribution_lib.rule_api import Emission, accumulator_def

@accumulator_def("Acc", "tests", "Traceback [(]most", symptoms=["Kaputt"])
@dataclass(slots=True)
class Acc:
    \"\"\"Collects a traceback.\"\"\"
    job: object
    captures: object
    line: str
    lines: list[str] = field(default_factory=list)

    def feed(self, line):
        self.lines.append(line)
        return True

    def finalize(self, *, truncated):
        yield Emission("bad_node", "Kaputt", payload={"lines": self.lines, "truncated": truncated})
"""
    engine = load(tmp_path, a_toml=BASE, f_py=code)
    (rule,) = engine.accumulators
    accumulator = rule.factory(None, {}, "Traceback (most")  # type: ignore[arg-type] # the identity is not looked at
    assert accumulator.feed("x")
    (emission,) = accumulator.finalize(truncated=False)
    assert emission.symptom == "Broken"
    assert emission.payload == {"lines": ["x"], "truncated": False}


def test_an_accumulator_that_emits_what_nobody_declared_crashes_instead(tmp_path: Path) -> None:
    code = """
from attribution_lib.rule_api import Emission, accumulator_def
class Acc:
    def feed(self, line): return False
    def finalize(self, *, truncated): return [Emission("bad_node", "Unheard of")]
@accumulator_def("Acc", "tests", "Traceback [(]most")
def make(job, captures, line): return Acc()
"""
    (rule,) = load(tmp_path, f_py=code).accumulators
    with pytest.raises(LookupError, match="Unheard of"):
        list(rule.factory(None, {}, "").finalize(truncated=False))  # type: ignore[arg-type] # likewise


def test_a_metric_rule_loads_as_documented(tmp_path: Path) -> None:
    rule = load(tmp_path, a_toml=BASE + METRIC).rule("node-metric-roce-adp-retrans")
    assert isinstance(rule, MetricRule)
    assert (rule.reduce, rule.window_seconds, rule.op, rule.value) == (Reduce.INCREASE, 300, ">", 100.0)


def test_deprecated_rules_keep_their_name_and_do_not_run(tmp_path: Path) -> None:
    engine = load(tmp_path, a_toml=extractor(more='status = "deprecated"\n'))
    assert engine.text_rules == ()
    assert [found.name for found in engine.deprecated] == ["R"]


def test_staged_rules_can_be_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path, a_toml=extractor(more='status = "staged"\n'))
    assert load_engine([folder]).rule_count == 1
    assert load_engine([folder], include_staged=False).rule_count == 0


def test_the_digest_names_the_content_and_not_the_place(tmp_path: Path) -> None:
    one = load(tmp_path / "one", a_toml=extractor(), common__x_py="A = 1")
    two = load(tmp_path / "two", a_toml=extractor(), common__x_py="A = 1", a_test_toml="")
    other = load(tmp_path / "three", a_toml=extractor(), common__x_py="A = 2")
    assert len(one.digest) == 64
    assert one.digest == two.digest != other.digest


def test_every_fault_of_every_file_is_listed_with_its_line(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        a_toml=extractor(emit='type = "bad_nod", symptom = "Broken"', match_re="(", more="colour = 1\n"),
        b_toml="[[symptom]\n",
        c_py="import os\nx = 1 / 0\n",
        d_py="import numpy\n",
        e_py="def f(:\n",
    )
    assert [text.split(": ", 1)[0] for text in found] == [
        "rules/a.toml:11 R match_re",
        "rules/a.toml:12 R emit",
        "rules/a.toml:13 R colour",
        "rules/b.toml:1",
        "rules/c.py:2",
        "rules/d.py:1",
        "rules/e.py:1",
    ]
    assert "does not compile" in found[0]
    assert "expected one of bad_node, interesting_node" in found[1]
    assert "unknown key" in found[2]
    assert "ZeroDivisionError" in found[4]
    assert "a rule file may import" in found[5]
    assert "SyntaxError" in found[6]


def test_nothing_is_built_from_refused_rules(tmp_path: Path) -> None:
    loader = RuleLoader([write(tmp_path, a_toml=extractor(match_re="("))])
    for _ in range(2):
        with pytest.raises(RuleLoadError, match=r"rules refused \(1 fault\)"):
            loader.build()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleLoadError, match="is no folder"):
        load_engine([tmp_path / "nowhere"])


def test_a_fault_in_a_common_module_names_that_module(tmp_path: Path) -> None:
    text = fault(tmp_path, f_py="from common.x import A\n", common__x_py="\n\nA = undefined\n")
    assert text.startswith("rules/common/x.py:3: cannot be executed: NameError")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("from common.nowhere import A", "rules/common/nowhere.py does not exist"),
        ("from .x import A", "relative imports"),
        ("import attribution_lib", "a rule file may import"),
        ("from attribution_lib.rules.loader import RuleLoader", "a rule file may import"),
        ("from common.declares import A", "only top-level rule files may declare rules"),
    ],
)
def test_imports_that_are_not_for_rule_files_are_refused(tmp_path: Path, code: str, problem: str) -> None:
    declares = "from attribution_lib.rule_api import filter_def\n@filter_def('F', 'me')\ndef A(context): pass\n"
    assert problem in fault(tmp_path, f_py=code, common__declares_py=declares)


@pytest.fixture
def _untouched() -> Iterator[None]:
    names = ("initialized", "_rules_engine", "_symptom_registry", "_node_names")
    before = {name: getattr(attribution_lib, name) for name in names}
    yield
    for name, value in before.items():
        setattr(attribution_lib, name, value)


@pytest.mark.usefixtures("_untouched")
def test_setup_rules_loads_once_and_again_when_forced(tmp_path: Path) -> None:
    folder = write(tmp_path, a_toml=extractor())
    first = attribution_lib.setup_rules(
        [folder], force=True, node_name_mapping={"a": "b"}, ignored_hostname_prefixes=["x-"]
    )
    assert attribution_lib.initialized
    assert attribution_lib._rules_engine is first
    assert attribution_lib._symptom_registry is first.registry
    assert attribution_lib._node_names.canonical("x-a") == "b"
    assert attribution_lib.setup_rules() is first
    assert attribution_lib.setup_rules([folder], force=True) is not first


@pytest.mark.usefixtures("_untouched")
def test_a_refused_setup_changes_nothing(tmp_path: Path) -> None:
    first = attribution_lib.setup_rules([write(tmp_path, a_toml=extractor())], force=True)
    with pytest.raises(RuleLoadError):
        attribution_lib.setup_rules([write(tmp_path, b_toml="x = 1")], force=True)
    assert attribution_lib._rules_engine is first


def test_loading_an_engine_touches_no_global(tmp_path: Path) -> None:
    before = attribution_lib._rules_engine
    load(tmp_path, a_toml=extractor())
    assert attribution_lib._rules_engine is before
