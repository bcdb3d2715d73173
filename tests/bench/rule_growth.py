"""How extraction slows down with the number of rules."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

from engine import attributor, ingest_text, load_rules
from evidence import hit_lines, quiet_templates, text
from extraction import patterns_of
from harness import Bench, Outcome, Section, rate, watch

from attribution_lib.match.matcher import build_matcher
from attribution_lib.match.pattern import compile_confirm
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["SECTION"]

_SIZE = 64
_FEW, _MANY = 500, 2_000
_FACTOR = 1.5
_RUNS = 3
"""The best of so many, taken in turns: a busy neighbour slows single runs down."""
_SAMPLE = 4 << 20
_UNUSABLE = re.compile(r"'''|\(\?<?[!=]")
_WORDS = re.compile(r"(?<![\\\[?<({|*+])\b[a-zA-Z]{4,}\b(?![>\]*+?{|)])")
_HEAD = """author = "bench"
[[symptom]]
name = "Bench"
outcome = "application_error"
rank = 700
scope = "job"
docs = "Stands for any symptom."
"""
_RULE = """[[extractor]]
name = "bench-{number}"
match_re = '''{pattern}'''
emit = {{ type = "bad_node", symptom = "Bench" }}
"""


def _run(bench: Bench) -> Outcome:
    bundled = patterns_of(load_rules(bench.cache))
    pick = random.Random(11)  # noqa: S311 -- wanted: the same every time
    base = pick.sample([pattern for pattern in bundled if not _UNUSABLE.search(pattern)], _FEW)
    few = _rules(bench, base)
    plan = few.plans.of(Source.APPLOG)
    data = text(bench.size(_SIZE), 0.01, hit_lines(plan), quiet_templates(plan))
    many = _rules(bench, base + _variants(base, data[:_SAMPLE], _MANY - _FEW, pick))
    runs = [(_extract(few, data), _extract(many, data)) for _ in range(_RUNS)]
    figures = {
        name: max(found, key=_speed) for name, found in zip(("few", "many"), zip(*runs, strict=True), strict=True)
    }
    factor = round(_speed(figures["few"]) / _speed(figures["many"]), 2)
    return Outcome({**figures, "factor": factor}, factor <= _FACTOR)


def _variants(base: list[str], sample: bytes, count: int, pick: random.Random) -> list[str]:
    """Patterns like those of ``base`` with their words exchanged, none of which hits the sample."""
    words = sorted({word for pattern in base for word in _WORDS.findall(pattern)})
    variants: list[str] = []
    while len(variants) < count:
        tried = [_WORDS.sub(lambda _: pick.choice(words), pattern) for pattern in base]
        hits = build_matcher(tried).scan(sample)
        loud = {hit.pattern for hit in hits if _confirmed(tried[hit.pattern], sample[hit.start : hit.end])}
        variants += [pattern for index, pattern in enumerate(tried) if index not in loud]
    return variants[:count]


def _confirmed(pattern: str, segment: bytes) -> bool:
    return compile_confirm(pattern).find(segment) is not None


def _rules(bench: Bench, patterns: list[str]) -> RuleEngine:
    folder = bench.folder / f"rules-{len(patterns)}"
    folder.mkdir()
    rules = (_RULE.format(number=number, pattern=pattern) for number, pattern in enumerate(patterns))
    (folder / "bench.toml").write_text(_HEAD + "".join(rules))
    return load_rules(bench.cache, [folder])


def _speed(figures: dict[str, Any]) -> float:
    return float(figures["mb_per_s"])


def _extract(engine: RuleEngine, data: bytes) -> dict[str, Any]:
    engine.plans.of(Source.APPLOG)
    with attributor(engine) as target:
        with watch() as spent:
            ingest_text(target, data)
        rows = len(target.events.load())
    return {"rules": engine.rule_count, "mb_per_s": rate(len(data), spent.cpu), "event_rows": rows}


SECTION = Section("rule_growth", "from 500 to 2,000 rules extraction takes at most 1.5 times as long", _run)
