"""Sequences: lines with offsets, a job, and the verdict they must lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.loader import load_engine
from attribution_lib.rules.testing import SampleRunner, collect_samples
from rules_kit import BASE, write

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.testing import SampleResult

RULES = (
    BASE
    + """
[[symptom]]
name = "Python error"
outcome = "application_error"
rank = 700
scope = "job"
[[extractor]]
name = "Part"
match_re = "part is broken"
emit = { type = "bad_node", symptom = "Broken" }
[[extractor]]
name = "Python"
match_re = "ValueError: (?P<text>.*)"
emit = { type = "bad_node", symptom = "Python error" }
"""
)
CASCADE = """
from attribution_lib.rule_api import cascade
cascade("PartFirst", author="tests", docs="A broken part makes programs raise.", causes=["Broken"],
        consequences=["Python error"], scope="job")
"""
SEQUENCE = """
[[sequence]]
name = "the part broke first"
origin = "made up"
job = { nodes = ["node-0001", "node-0002"], state = "FAILED" }
lines = [
  { at = 0, source = "syslog", node = "node-0002", line = "part is broken" },
  { at = 2.5, node = "node-0001", rank = 0, line = "ValueError: x" },
]
expect.outcome = "gpu_hardware"
expect.symptom = "Kaputt"
expect.node = "node-0002"
expect.bad_nodes = ["node-0002"]
expect.discarded = ["Python error"]
expect.changed_by = ["PartFirst"]
expect.line = "is broken"
"""


def run(folder: Path, sequence: str) -> SampleResult:
    """The result of one sequence."""
    path = write(folder, a_toml=RULES, c_py=CASCADE, a_test_toml=sequence)
    engine = load_engine([path])
    (result,) = SampleRunner(engine).run(collect_samples([path], engine))
    return result


def test_lines_in_order_lead_to_the_expected_verdict(tmp_path: Path) -> None:
    result = run(tmp_path, SEQUENCE)
    assert result.problems == ()
    assert result.passed


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('outcome = "gpu_hardware"', 'outcome = "gpu_driver"', "outcome is 'gpu_hardware', expected 'gpu_driver'"),
        ('bad_nodes = ["node-0002"]', "bad_nodes = []", "bad_nodes is ['node-0002'], expected []"),
        ('discarded = ["Python error"]', 'remaining = ["Python error"]', "remaining is [], expected ['Python error']"),
        ('["PartFirst"]', '["Other"]', "changed_by is ['PartFirst'], expected ['Other']"),
        ('line = "is broken"', "rank = 3", "rank is None, expected 3"),
        ('state = "FAILED"', 'stat = "FAILED"', "job refused"),
    ],
)
def test_what_differs_is_said(tmp_path: Path, old: str, new: str, problem: str) -> None:
    result = run(tmp_path, SEQUENCE.replace(old, new))
    assert not result.passed
    assert any(problem in text for text in result.problems), result.problems


def test_plain_lines_are_one_text_stream_in_order(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        '[[sequence]]\norigin = "x"\nlines = ["ValueError: x", "the part is broken"]\nexpect = { symptom = "Broken" }\n'
        'job = { nodes = ["node-0001"], state = "FAILED" }\n',
    )
    assert result.problems == ()


COLLECTOR = """
from attribution_lib.rule_api import collector_def
@collector_def("broken", "tests")
def broken(context):
    "Nodes with a broken part, and how many."
    nodes = sorted(event.node for event in context.event_stream.bad(["Broken"]))
    return {"nodes": [{"name": node, "rack": None} for node in nodes], "count": len(nodes)}
"""


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ('{ broken = { count = 1, nodes = [{ name = "node-0002" }] } }', True),
        ("{ broken = { count = 2 } }", False),
        ("{ broken = { nodes = [] } }", False),
        ('{ broken = { nodes = [{ name = "node-0001" }] } }', False),
        ("{ others = { count = 1 } }", False),
    ],
)
def test_of_a_collection_only_what_is_named_is_compared(tmp_path: Path, wanted: str, *, holds: bool) -> None:
    sequence = f"{SEQUENCE}expect.collections = {wanted}\n"
    path = write(tmp_path, a_toml=RULES, c_py=CASCADE, d_py=COLLECTOR, a_test_toml=sequence)
    engine = load_engine([path])
    (result,) = SampleRunner(engine).run(collect_samples([path], engine))
    assert result.passed is holds
    assert holds or result.problems[0].startswith("collections is ")


NEEDED = """
[[needed_evidence]]
name = "KernelLog"
source = "syslog"
before = 1800
after = 300
why = "kernel lines would show it"
"""


@pytest.mark.parametrize(
    ("wanted", "holds"), [('["syslog job: kernel lines"]', True), ('["metrics"]', False), ("[]", False)]
)
def test_what_evidence_a_verdict_asks_for_is_compared_in_parts(tmp_path: Path, wanted: str, *, holds: bool) -> None:
    sequence = f"""[[sequence]]
origin = "x"
job = {{ nodes = ["node-0001"], state = "FAILED" }}
lines = ["a line that no rule reads"]
expect.needed_evidence = {wanted}
"""
    path = write(tmp_path, a_toml=RULES + NEEDED, a_test_toml=sequence)
    engine = load_engine([path])
    (result,) = SampleRunner(engine).run(collect_samples([path], engine))
    assert result.passed is holds


METRIC_RULE = """
[[metric_extractor]]
name = "Codes"
metric = "gpu_code"
reduce = "changes"
op = ">"
value = 0
emit = { type = "bad_node", symptom = "Broken" }
"""
SERIES = """
[[sequence]]
origin = "made up"
job = { nodes = ["node-0001", "node-0002"], state = "FAILED" }
metrics = [ { metric = "gpu_code", labels = { Hostname = "node-0002" }, values = [[0, 0], [60, 79]] } ]
expect = { symptom = "Broken", node = "node-0002" }
"""


def run_series(folder: Path, sequence: str) -> SampleResult:
    path = write(folder, a_toml=RULES + METRIC_RULE, a_test_toml=sequence)
    engine = load_engine([path])
    (result,) = SampleRunner(engine).run(collect_samples([path], engine))
    return result


def test_metrics_lead_to_a_verdict_with_or_without_lines(tmp_path: Path) -> None:
    assert run_series(tmp_path / "alone", SERIES).problems == ()
    beside = SERIES.replace("expect", 'lines = [{ at = 1, line = "ValueError: x" }]\nexpect', 1)
    assert run_series(tmp_path / "beside", beside).problems == ()
    stands = run_series(tmp_path / "stands", SERIES.replace("[0, 0]", "[0, 79]"))
    assert stands.problems == (
        "symptom is 'Scheduler state FAILED', expected 'Broken'",
        "node is None, expected 'node-0002'",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[[0, 0], [60, 79]]", "[]"),
        ("[60, 79]", '[60, "x"]'),
        ("labels", "label"),
        ('"gpu_code"', "7"),
        ("[60, 79]", "60"),
    ],
)
def test_a_series_that_is_none_is_refused_with_what_was_expected(tmp_path: Path, old: str, new: str) -> None:
    path = write(tmp_path, a_toml=RULES + METRIC_RULE, a_test_toml=SERIES.replace(old, new))
    with pytest.raises(RuleLoadError, match=r"metrics.*element 1 is"):
        collect_samples([path], load_engine([path]))
