"""What a fresh process spends before its first line: imports, rules, matchers. Run as a script, it is that process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness import Bench, Outcome, Section

__all__ = ["SECTION"]

_RUNS = 3
_SECONDS = 1.0


def _run(bench: Bench) -> Outcome:
    first = _fresh_process(bench)
    best = min((_fresh_process(bench) for _ in range(_RUNS)), key=lambda run: run["ingest_cpu_s"])
    figures = {"without_cache": first, "with_cache": best}
    return Outcome(figures, best["ingest_cpu_s"] <= _SECONDS and best["attribute_cpu_s"] <= _SECONDS)


def _fresh_process(bench: Bench) -> dict[str, Any]:
    command = [sys.executable, __file__, str(bench.folder / "cold")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 -- this very file
    started: dict[str, Any] = json.loads(printed)
    return started


def _start(cache: Path) -> dict[str, Any]:
    """CPU seconds of this process between the steps of its start."""
    began = time.process_time()
    from engine import attributor, load_rules  # noqa: PLC0415 -- importing is what is measured

    from attribution_lib.observation import TEXT_SOURCES  # noqa: PLC0415 -- likewise

    imported = time.process_time()
    engine = load_rules(cache)
    loaded = time.process_time()
    with attributor(engine, 8) as target:
        target.attribute()
    attributed = time.process_time()
    for source in TEXT_SOURCES:
        engine.plans.of(source)
    planned = time.process_time()
    return {
        "interpreter_s": round(began, 3),
        "import_s": round(imported - began, 3),
        "rules_s": round(loaded - imported, 3),
        "first_verdict_s": round(attributed - loaded, 3),
        "matchers_s": round(planned - attributed, 3),
        "attribute_cpu_s": round(attributed, 3),
        "ingest_cpu_s": round(loaded + planned - attributed, 3),
        "rules": engine.rule_count,
    }


SECTION = Section("cold_start", "import, rules and matchers: at most 1.0 s of CPU with the compiled cache", _run)

if __name__ == "__main__":
    sys.stdout.write(json.dumps(_start(Path(sys.argv[1]))))
