"""Accelerated ≡ plain loop for the bundled rules, on every line of their tests and of the samples."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.loader import RuleLoader
from match_kit import assert_equivalent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.engine import RuleEngine

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def engine() -> RuleEngine:
    loader = RuleLoader()
    loader.load_all()
    return loader.build()


def _tested_lines() -> Iterator[str]:
    for path in sorted((ROOT / "rules").glob("*.test.toml")):
        tests = tomllib.loads(path.read_text())
        for kind in ("hit", "miss", "todo_hit", "todo_miss"):
            yield from (str(test.get("line", "")) for test in tests.get(kind, ()))


def _sample_lines() -> Iterator[str]:
    for path in sorted((ROOT / "samples").rglob("*.log")):
        yield from path.read_text(errors="replace").splitlines()
    yield from (line.split("\t")[2] for line in (ROOT / "samples" / "lines.tsv").read_text().splitlines()[1:])


def test_the_bundled_rules_lose_nothing(engine: RuleEngine) -> None:
    """Every pattern of every text source at once, so that all of them are in one database."""
    rules = [(rule.match_re, rule.engine) for rule in engine.text_rules]
    rules += [(rule.trigger_re, "re2") for rule in engine.accumulators]
    patterns, engines = zip(*dict.fromkeys(rules), strict=True)
    lines = [line.encode() for line in (*_tested_lines(), *_sample_lines()) if line]
    assert len(lines) > 1_000
    assert_equivalent(patterns, lines, engines, thorough=False)


@pytest.mark.parametrize("source", TEXT_SOURCES)
def test_the_bundled_rules_are_all_accelerated(engine: RuleEngine, source: Source) -> None:
    assert engine.plans.of(source).matcher.diagnostics == ()
