"""Measures the product and writes what it found: ``python tests/bench/run.py [section …]``.

Prints one JSON object and writes it to ``bench/results.json``; exits with 1 when a declared target is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import attribution
import cold_start
import dashboard_pages
import extraction
import fleet
import hostile
import json_entries
import repeats
import rule_growth
import scan
import service_attribute
import service_requests
import service_start
import static_run
from harness import Bench, Section, pin_to_one_core

_MODULES = (
    scan,
    extraction,
    json_entries,
    attribution,
    repeats,
    cold_start,
    hostile,
    rule_growth,
    service_attribute,
    service_requests,
    service_start,
    static_run,
    fleet,
    dashboard_pages,
)
"""In the order in which they run."""

SECTIONS: dict[str, Section] = {module.SECTION.name: module.SECTION for module in _MODULES}

_RESULTS = Path(__file__).parents[2] / "bench" / "results.json"


def main() -> int:
    """Run the chosen sections (all by default)."""
    arguments = _arguments()
    core = pin_to_one_core()
    with tempfile.TemporaryDirectory(prefix="attribution-bench-") as folder:
        bench = Bench(Path(folder), arguments.scale)
        measured = {name: _measure(SECTIONS[name], bench) for name in arguments.sections or SECTIONS}
    results = {"machine": _machine(core), "scale": arguments.scale, "sections": measured}
    if arguments.sections and arguments.out.exists():
        kept = json.loads(arguments.out.read_text()).get("sections", {})
        results["sections"] = {**kept, **measured}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    missed = [name for name, section in measured.items() if section["met"] is False]
    sys.stderr.write(f"missed: {', '.join(missed)}\n" if missed else "all targets met\n")
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the declared sizes, for a quick look")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    return parser.parse_args()


def _measure(section: Section, bench: Bench) -> dict[str, Any]:
    sys.stderr.write(f"{section.name} …\n")
    try:
        outcome = section.run(bench)
    except Exception:  # noqa: BLE001 -- one section that breaks must not cost the others' figures
        return {"target": section.target, "met": False, "error": traceback.format_exc()}
    return {"target": section.target, "met": outcome.met, **outcome.figures}


def _machine(core: int | None) -> dict[str, Any]:
    model = next((line for line in _cpuinfo() if line.startswith("model name")), "").partition(": ")[2]
    return {"cpu": model, "core": core, "python": platform.python_version(), "system": platform.system()}


def _cpuinfo() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
