"""Accumulators of last resort: asked of the lines of which nobody else reads anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.attributor import Attributor
from engine_kit import applog, engine_of, job

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

PYTHON = '''
from attribution_lib.rule_api import Emission, accumulator_def

class Word:
    complete = True

    def feed(self, line):
        return False

    def finalize(self, *, truncated):
        yield Emission("info", payload={"kind": "word"})

@accumulator_def("AnyError", "tests", trigger_re="ERROR", sources=("applog",), last_resort=True)
def any_error(job, captures, line):
    """The word of an error."""
    return Word()

@accumulator_def("AnyWord", "tests", trigger_re="word", sources=("applog",))
def any_word(job, captures, line):
    """A word."""
    return Word()
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"), "", PYTHON)


def rules_that_read(engine: RuleEngine, line: str) -> list[str]:
    with Attributor(job(), engine) as attributor:
        attributor.ingest(applog(line))
        _, stream = attributor.attribute_with_stream()
        return sorted(event.rule for event in stream.events() if event.line_num == 1)


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("ERROR at last", ["AnyError"]),
        ("ERROR: CODE RAISED", ["Raised"]),
        ("ERROR: a word", ["AnyWord"]),
    ],
)
def test_a_line_that_another_rule_reads_starts_none_of_last_resort(
    engine: RuleEngine, line: str, rules: list[str]
) -> None:
    assert rules_that_read(engine, line) == rules
