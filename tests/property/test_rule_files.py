"""Whatever a rule file holds, loading it ends in an engine or in a ``RuleLoadError`` with addresses."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.errors import Fault, RuleLoadError
from attribution_lib.rules.loader import load_engine
from rules_kit import BASE, extractor, told, write

CATALOG = """[[extractor_catalog]]
name = "C"
match_re = '''code (?P<code>\\d+)'''
catalog = "catalogs/c.csv"
keys = ["code"]
symptoms = true
default = { event = "bad_node", symptom = "Broken" }
emit = { type = "{event}", symptom = "C-{code}", payload = { a = "{code}" } }
"""
FAMILY = """[[extractor_family]]
name = "F"
match_re = "bad {w}"
emit = { type = "bad_node", symptom = "{s}" }
members = [ { id = "a", w = "x", s = "Broken" }, { id = "b", w = "y", s = "Kaputt" } ]
"""
METRIC = """[[metric_extractor]]
name = "M"
metric = "m"
reduce = "max"
op = ">"
value = 1
window = "5m"
emit = { type = "interesting_node", symptom = "Broken" }
"""
TABLE = "code,event,outcome,rank,scope\n1,bad_node,gpu_memory,900,node\n2,info,gpu_driver,800,device\n"
WHOLE = extractor() + CATALOG + FAMILY + METRIC


@st.composite
def mutations(draw: st.DrawFn, text: str) -> str:
    """The text with up to three stretches cut out or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 25)))
        text = (
            text[:start]
            + draw(st.sampled_from(["", "x", '"', "[", "{", "3", "\n", "= true\n", "{w}", "é"]))
            + text[end:]
        )
    return text


def _faults(**files: str) -> tuple[Fault, ...]:
    """What a load of these files is refused with; nothing when they load."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            load_engine([write(Path(scratch), **files)])
        except RuleLoadError as error:
            return error.faults
    return ()


@settings(max_examples=150, deadline=None)
@given(mutations(WHOLE))
def test_a_mangled_rule_file(rules: str) -> None:
    found = _faults(a_toml=rules, catalogs__c_csv=TABLE)
    assert all(fault.address.startswith("rules/") and fault.problem for fault in found)


@settings(max_examples=100, deadline=None)
@given(mutations(WHOLE))
def test_what_is_kept_of_a_load_says_what_the_files_say(rules: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, kept = write(Path(scratch), a_toml=rules, catalogs__c_csv=TABLE), Path(scratch, "kept")
        first, second, from_files = (_outcome(folder, kept), _outcome(folder, kept), _outcome(folder, None))
        assert first == second == from_files


def _outcome(folder: Path, kept: Path | None) -> object:
    """All that the engine holds, or what the load is refused with."""
    try:
        return told(load_engine([folder], cache_dir=kept))
    except RuleLoadError as error:
        return error.faults


@settings(max_examples=100, deadline=None)
@given(mutations(TABLE))
def test_a_mangled_catalogue(table: str) -> None:
    found = _faults(a_toml=BASE + CATALOG, catalogs__c_csv=table)
    assert all(fault.address.startswith("rules/") and fault.problem for fault in found)


@settings(max_examples=50, deadline=None)
@given(
    mutations("from attribution_lib.rule_api import filter_def\n@filter_def('F', 'me')\ndef f(context):\n    'Docs.'\n")
)
def test_a_mangled_python_file(code: str) -> None:
    assert all(fault.address.startswith("rules/a.py:") for fault in _faults(a_py=code))
