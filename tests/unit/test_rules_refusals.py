"""Every way in which one declaration can be wrong is refused at its line, with what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rules_kit import BASE, extractor, fault, faults

if TYPE_CHECKING:
    from pathlib import Path

SYMPTOM = '[[symptom]]\nname = "S"\noutcome = "gpu_hardware"\nrank = 900\nscope = "node"\n'
HEADER = 'author = "tests"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SYMPTOM.replace("rank = 900\n", ""), "a.toml:2 S rank: is missing; expected an integer"),
        (SYMPTOM.replace("900", "1000"), "a.toml:5 S rank: is 1000; expected 0 to 999"),
        (SYMPTOM.replace("900", "true"), "a.toml:5 S rank: is bool True; expected an integer"),
        (SYMPTOM.replace("gpu_hardware", "gpu"), "a.toml:4 S outcome: is 'gpu'; expected one of gpu_hardware"),
        (SYMPTOM.replace('"node"', '"rack"'), "a.toml:6 S scope: is 'rack'; expected one of node, device, job"),
        (SYMPTOM + 'aliases = ["x", 3]\n', "a.toml:7 S aliases: element 2 is 3; expected a non-empty string"),
        (SYMPTOM.replace('name = "S"\n', ""), "a.toml:2 [[symptom]] name: is missing"),
        ("[[extractr]]\n", "a.toml:2 extractr: unknown key; expected one of author, status"),
        ("symptom = 3\n", "a.toml:2 symptom: is no array of tables; expected [[symptom]]"),
        ('[[filter]]\nname = "F"\npriority = 0\n', "a.toml:2 F: [[filter]] cannot be declared in TOML"),
    ],
)
def test_a_faulty_declaration(tmp_path: Path, text: str, expected: str) -> None:
    assert f"rules/{expected}" in fault(tmp_path, a_toml=HEADER + text)


@pytest.mark.parametrize(
    ("emit", "match_re", "more", "expected"),
    [
        ('type = "bad_node"', "it is", "", "12 R emit: type bad_node without a symptom"),
        ('type = "interesting_node"', "it is", "", "12 R emit: type interesting_node without a symptom"),
        ('type = "stop"', "it is", "", "12 R emit: type stop without a symptom"),
        ('type = "stop", symptom = "Broken"', "it is", "", "9 R emit: stop with a symptom of outcome gpu_hardware"),
        ('type = "info", symptom = "Nope"', "it is", "", "9 R emit: unknown symptom 'Nope'"),
        ('type = "info", node = "{host}"', "it (?P<node>is)", "", "names {host}, which the pattern does not capture"),
        ('type = "info", symptom = "{node}"', "it (?P<node>is)", "", "symptom names {node}, which is no member key"),
        ('type = "{node}"', "it (?P<node>is)", "", "type names {node}, which is no catalogue column"),
        ('type = "info", payload = { a = "{b}" }', "it is", "", "names {b}, which the pattern does not capture"),
        ('type = "info", payload = 3', "it is", "", "payload is not a table"),
        ('type = "info", colour = "red"', "it is", "", "unknown key 'colour'"),
        ('type = "info"', "it is", 'key = ["pid"]\n', "13 R key: 'pid' is neither captured nor in the payload"),
        ('type = "info"', "it is", 'fold = "first"\n', "13 R fold: is 'first'; expected one of , last, max"),
        ('type = "info"', "it is", 'sources = ["node_metrics"]\n', "13 R sources: 'node_metrics' is no text source"),
        ('type = "info"', "it is", 'status = "draft"\n', "13 R status: is 'draft'; expected one of staged, stable"),
        ('type = "info"', "it is", 'engine = "pcre"\n', "13 R engine: is 'pcre'; expected one of re2, re"),
        ('type = "info"', "it is", 'engine = "re"\n', '13 R engine: engine = "re" without engine_reason'),
        ('type = "info"', "a(?=b)", "", "11 R match_re: pattern of R does not compile"),
        ('type = "info"', "(?P<a>x)(?P<a>y)", "", "11 R match_re: pattern of R has two groups named a"),
    ],
)
def test_a_faulty_extractor(tmp_path: Path, emit: str, match_re: str, more: str, expected: str) -> None:
    assert expected in fault(tmp_path, a_toml=extractor(emit, match_re, more))


def test_the_other_engine_needs_bounded_repeats(tmp_path: Path) -> None:
    more = 'engine = "re"\nengine_reason = "look-ahead"\n'
    assert "unbounded repeat" in fault(tmp_path, a_toml=extractor(match_re="a(?=(b.*)c)", more=more))


def test_names_are_unique_over_all_files(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        a_toml=extractor(),
        b_toml=HEADER + '[[extractor]]\nname = "R"\nmatch_re = "xxxx"\nemit = { type = "info" }\n',
        c_py="from attribution_lib.rule_api import symptom_def\n"
        "symptom_def('Kaputt', outcome='gpu_hardware', rank=1, scope='node')\n",
    )
    assert found == [
        "rules/b.toml:2 R: is already declared at rules/a.toml:9; expected a name of its own",
        "rules/c.py:2 Kaputt: symptom 'Kaputt' is already declared at rules/a.toml:2; expected a new name",
    ]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("[]", "members: is missing or empty"),
        ('[ { id = "a", w = "x" }, { id = "a", w = "y" } ]', "two members have the id 'a'"),
        ('[ { w = "x" } ]', "member 1 has no id"),
        ('[ { id = "a", w = "x" }, { id = "b" } ]', "member b lacks 'w'"),
        ('[ { id = "a", w = "x", v = "y" } ]', "key 'v' is used by no template"),
        ('[ { id = "a", w = ["x"] } ]', "w is ['x']; expected a string"),
        ('[ { id = "a", w = "(" } ]', "pattern of F.a does not compile"),
    ],
)
def test_a_faulty_family(tmp_path: Path, members: str, expected: str) -> None:
    family = '[[extractor_family]]\nname = "F"\nmatch_re = "broken {w}"\nemit = { type = "info" }\n'
    family += f"members = {members}\n"
    assert any(expected in text for text in faults(tmp_path, a_toml=HEADER + family))


def test_a_fault_of_a_member_names_the_line_of_the_member(tmp_path: Path) -> None:
    members = 'members = [\n  { id = "a", w = "x" },\n  { id = "b", w = "(" },\n]\n'
    family = f'[[extractor_family]]\nname = "F"\nmatch_re = "broken {{w}}"\nemit = {{ type = "info" }}\n{members}'
    assert fault(tmp_path, a_toml=HEADER + family).startswith("rules/a.toml:8 F members: pattern of F.b")


METRIC = """[[metric_extractor]]
name = "M"
metric = "m"
reduce = "last"
op = ">"
value = 1
emit = { type = "info" }
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('metric = "m"\n', "", "2 M metric: is missing"),
        ('reduce = "last"\n', "", "2 M reduce: is missing"),
        ('op = ">"\n', "", "2 M op: is missing"),
        ("value = 1\n", "", "2 M value: is missing"),
        ('op = ">"', 'op = "=>"', "6 M op: is '=>'; expected one of >, >="),
        ("value = 1", 'value = "1"', "7 M value: is str '1'; expected a number"),
        ("value = 1", 'value = 1\nwindow = "5 min"', "8 M window: is '5 min'; expected a duration"),
        ("value = 1", 'value = 1\nsources = ["syslog"]', "8 M sources: is ['syslog']"),
        ("value = 1", 'value = 1\ncode_label = "xid"', "8 M code_label: needs a catalog"),
        ("value = 1", 'value = 1\nlabels = { device = "eth*" }', "8 M labels: device is 'eth*'; expected an array of"),
        ("value = 1", "value = 1\nlabels = { device = [] }", "8 M labels: device is []; expected an array of"),
        (
            '"last"',
            '"turns"\nwindow = "5m"',
            "6 M window: is set, but a turn is between two samples; expected no window",
        ),
    ],
)
def test_a_faulty_metric_rule(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert f"rules/a.toml:{expected}" in fault(tmp_path, a_toml=HEADER + METRIC.replace(old, new))


DEPENDS = """
from attribution_lib.rule_api import collector_def, filter_def, refiner_def, xid, cascade
@filter_def("A", "t", priority=5, {a})
def a(context): "First."
@filter_def("B", "t", priority=7, {b})
def b(context): "Second."
@collector_def("C", "t", {c})
def c(context): return {{}}
@filter_def("Old", "t", status="deprecated")
def old(context): "Gone."
@filter_def("New", "t", status="staged")
def new(context): "Not yet."
"""


@pytest.mark.parametrize(
    ("which", "depends", "problem"),
    [
        ("a", "Nobody", "'Nobody' does not exist"),
        ("a", "B", "'B' runs later"),
        ("a", "C", "'C' runs later"),
        ("b", "Old", "'Old' is deprecated"),
        ("b", "New", "'New' is only staged"),
        ("a", "A", "'A' depends on this rule in turn"),
    ],
)
def test_a_dependency_must_run_and_run_before(tmp_path: Path, which: str, depends: str, problem: str) -> None:
    options = {"a": "", "b": "", "c": "", which: f"depends_on=[{depends!r}]"}
    assert problem in fault(tmp_path, f_py=DEPENDS.format(**options))


def test_extractors_must_not_depend_on_each_other_in_a_circle(tmp_path: Path) -> None:
    first = extractor(more='depends_on = ["S"]\n')
    second = '[[extractor]]\nname = "S"\nmatch_re = "other"\nemit = { type = "info" }\ndepends_on = ["R"]\n'
    found = faults(tmp_path, a_toml=first + second)
    assert len(found) == 2
    assert all("in turn" in text for text in found)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("@refiner_def('R', 't', symptoms=['Nope'])\ndef r(context): 'x'", "unknown symptom 'Nope'"),
        ("@refiner_def('R', 't', symptoms=[xid(48)])\ndef r(context): 'x'", "stands for no symptom at all"),
        (
            "cascade('R', author='t', docs='d', causes=['Broken'], consequences=['Nope'], scope='node')",
            "unknown symptom 'Nope'",
        ),
        ("@refiner_def('R', 't')\ndef r(): 'x'", "the function takes (nothing); expected (context)"),
        ("@filter_def('R', 't')\ndef r(context, job): 'x'", "the function takes (context, job); expected (context)"),
        ("@filter_def('R', 't', colour='red')\ndef r(context): 'x'", "R colour: unknown key"),
        ("@filter_def('R', 't', priority=-1)\ndef r(context): 'x'", "R priority: is -1"),
        (
            "@decoder_def('d')\ndef d(captures, stream): 'x'",
            "the function takes (captures, stream); expected (captures)",
        ),
    ],
)
def test_a_faulty_python_rule(tmp_path: Path, code: str, problem: str) -> None:
    imports = "from attribution_lib.rule_api import *\nfrom attribution_lib.rule_api import cascade, xid\n"
    assert problem in fault(tmp_path, a_toml=BASE, f_py=imports + code)


@pytest.mark.parametrize(
    "signature",
    [
        "job, captures, line, stream",
        "job, captures",
        "job, captures, event_stream",
        "job: FilterContext, captures, line",
    ],
)
def test_an_accumulator_that_asks_for_the_stream_is_refused(tmp_path: Path, signature: str) -> None:
    code = (
        "from __future__ import annotations\n"
        "from attribution_lib.rule_api import accumulator_def, FilterContext\n"
        f"@accumulator_def('Acc', 'tests', 'Traceback')\ndef make({signature}):\n    return None\n"
    )
    found = faults(tmp_path, f_py=code)
    assert all(text.startswith("rules/f.py:3 Acc:") for text in found)
    assert any("expected (job, captures, line)" in text for text in found)


def test_an_accumulator_class_needs_both_methods(tmp_path: Path) -> None:
    code = (
        "from attribution_lib.rule_api import accumulator_def\n"
        "@accumulator_def('Acc', 'tests', '(')\nclass Acc:\n"
        "    def __init__(self, job, captures, line): pass\n    def feed(self, line): return False\n"
    )
    found = faults(tmp_path, f_py=code)
    assert any("the accumulator has no finalize()" in text for text in found)
    assert any("trigger_re: pattern does not compile" in text for text in found)


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "x.toml").write_bytes(b'author = "\xff"')
    assert "is not UTF-8" in fault(tmp_path, a_toml=HEADER)


@pytest.mark.parametrize(
    ("scope", "order", "says"),
    [
        ("nodes", "before", "C scope: is 'nodes'; expected one of device, rank, node, job"),
        ("node", "after", "C order: is 'after'; expected one of before, any"),
    ],
)
def test_a_cascade_of_unknown_words_is_told_the_known_ones(tmp_path: Path, scope: str, order: str, says: str) -> None:
    code = (
        "from attribution_lib.rule_api import cascade\ncascade('C', author='t', docs='', causes=[], consequences=[], "
    )
    found = fault(tmp_path, a_toml=extractor(), c_py=code + f"scope={scope!r}, order={order!r})\n")
    assert found.startswith("rules/c.py:2: cannot be executed: ")
    assert says in found
