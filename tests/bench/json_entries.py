"""Log entries as a backend returns them: from the bytes of a request body to event rows."""

from __future__ import annotations

from typing import Any

from engine import attributor, load_rules
from evidence import entries_body, hit_lines, quiet_templates, text
from harness import Bench, Outcome, Section, rate, watch

from attribution_lib.observation import Source
from attribution_lib.observation_parse import parse_observation

__all__ = ["SECTION"]

_SIZE = 32
_TARGET = 100.0


def _run(bench: Bench) -> Outcome:
    engine = load_rules(bench.cache)
    plan = engine.plans.of(Source.APPLOG)
    templates, hits = quiet_templates(plan), hit_lines(plan)
    figures: dict[str, Any] = {}
    for share in (0.01, 0.10):
        lines = text(bench.size(_SIZE), share, hits, templates).decode().splitlines()
        body = entries_body(lines)
        with watch() as parsing:
            observation = parse_observation(body)
        with attributor(engine) as target, watch() as ingesting:
            target.ingest(observation)
        figures[f"hits_{share:.0%}"] = {
            "body_bytes": len(body),
            "entries": len(lines),
            "mb_per_s": rate(len(body), parsing.cpu + ingesting.cpu),
            "parse_mb_per_s": rate(len(body), parsing.cpu),
            "extract_mb_per_s": rate(len(body), ingesting.cpu),
            "memory_mib": round(parsing.grown + ingesting.grown),
        }
    return Outcome(figures, figures["hits_1%"]["mb_per_s"] >= _TARGET)


SECTION = Section("json_entries", "at least 100 MB/s of body at 1 % hit lines", _run)
