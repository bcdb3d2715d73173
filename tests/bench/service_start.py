"""What a function costs before its first request: CPU of importing each handler, and the size of the built layer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import Bench, Outcome, Section

__all__ = ["SECTION"]

_ROOT = Path(__file__).resolve().parents[2]
_LAYER = _ROOT / ".aws-sam" / "build" / "EngineLayer"
_LAYER_MIB = 60.0
_RUNS = 5
_PROGRAM = """
import importlib.util, sys, time
before = time.process_time()
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(time.process_time() - before)
"""


def _run(_: Bench) -> Outcome:
    handlers = sorted((_ROOT / "functions").glob("*/app.py"))
    figures: dict[str, Any] = {"import_cpu_s": {handler.parent.name: _import(handler) for handler in handlers}}
    if not _LAYER.is_dir():
        return Outcome({**figures, "layer_mib": None, "note": "no layer: run make build first"})
    size = round(sum(file.stat().st_size for file in _LAYER.rglob("*") if file.is_file()) / (1 << 20), 1)
    parts = {
        part.name: round(sum(file.stat().st_size for file in part.rglob("*") if file.is_file()) / (1 << 20), 1)
        for part in [_LAYER / "rules-cache", *(_LAYER / "python").iterdir()]
    }
    largest = dict(sorted(parts.items(), key=lambda item: -item[1])[:8])
    return Outcome({**figures, "layer_mib": size, "largest_mib": largest}, size <= _LAYER_MIB)


def _import(handler: Path) -> float:
    """CPU seconds in a fresh process, the best of some."""
    command = [sys.executable, "-c", _PROGRAM, str(handler)]
    environment = {"PYTHONPATH": str(_ROOT / "layers" / "engine")}
    runs = [
        float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)  # noqa: S603 -- our own interpreter
        for _ in range(_RUNS)
    ]
    return round(min(runs), 3)


SECTION = Section("service_start", f"the unzipped layer has at most {_LAYER_MIB:.0f} MiB", _run)
