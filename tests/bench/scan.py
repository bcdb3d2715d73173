"""The matcher alone: scanning, without confirmation and events."""

from __future__ import annotations

from typing import Any

from engine import load_rules
from evidence import hit_lines, quiet_templates, text
from extraction import patterns_of
from harness import Bench, Outcome, Section, rate, watch

from attribution_lib.match.matcher import build_matcher
from attribution_lib.observation import Source

__all__ = ["SECTION"]

_SIZE = 32


def _run(bench: Bench) -> Outcome:
    engine = load_rules(bench.cache)
    plan = engine.plans.of(Source.APPLOG)
    with watch() as compiling:
        build_matcher(patterns_of(engine))
    figures: dict[str, Any] = {"patterns": len(plan.rules), "compile_cpu_s": round(compiling.cpu, 3)}
    templates, hits = quiet_templates(plan), hit_lines(plan)
    for share in (0.0, 0.01, 0.1, 1.0):
        data = text(bench.size(_SIZE), share, hits, templates)
        with watch() as spent:
            proposed = sum(1 for _ in plan.matcher.scan(data))
        figures[f"hits_{share:.0%}"] = {"mb_per_s": rate(len(data), spent.cpu), "proposed": proposed}
    return Outcome(figures)


SECTION = Section("scan", "none: shows what the matcher leaves for the rest of extraction", _run)
