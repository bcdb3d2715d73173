"""Simulated fleets of 200 and 2,000 contexts with a share of every mishap: exact totals, time, and flat memory."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import Bench, Outcome, Section, in_child

__all__ = ["SECTION"]

_SMALL, _LARGE = 200, 2_000
_GROWTH = 1.2
_MEMORY = Path("/dev/shm")  # noqa: S108 -- a RAM disk: the figures are of the product, not of this disk
_TESTS = Path(__file__).parents[1]


def _run(bench: Bench) -> Outcome:
    figures: dict[str, Any] = {}
    for count in (bench.count(_SMALL), bench.count(_LARGE)):
        folder = Path(tempfile.mkdtemp(prefix="fleet-", dir=_MEMORY if _MEMORY.is_dir() else bench.folder))
        try:
            in_child(_prepare, folder, count)
            figures[str(count)] = in_child(_fleet, folder, count)
        finally:
            shutil.rmtree(folder)
    small, large = figures.values()
    ratio = round(large["peak_mib"] / small["peak_mib"], 3)
    exact = all(found["exact"] and found["left_open"] == 0 for found in (small, large))
    return Outcome({**figures, "peak_ratio": ratio}, exact and ratio <= _GROWTH)


def _simulation(folder: Path, count: int) -> Any:
    sys.path.append(str(_TESTS))
    from fleet_kit import Expected, Simulation  # noqa: PLC0415 -- beside the tests that use it too

    return Simulation(folder, Expected(count))


def _prepare(folder: Path, count: int) -> None:
    _simulation(folder, count).prepare()


def _fleet(folder: Path, count: int) -> dict[str, Any]:
    """One fleet in a process of its own, whose peak memory is the fleet's."""
    logging.disable(logging.CRITICAL)  # the mishaps are told in the rows
    simulation = _simulation(folder, count)
    service = simulation.connect()
    service.check()
    wall, cpu = time.perf_counter(), time.process_time()
    summary = simulation.run(service)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    wanted = simulation.expected.totals
    found = {
        "totals": {name: getattr(summary.totals, name) for name in wanted},
        "left_open": simulation.left_open(service),
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "wall_ms_per_context": round(wall / count * 1000, 1),
        "cpu_ms_per_context": round(cpu / count * 1000, 1),
        "peak_mib": round(_peak_mib(), 1),
    }
    counters = simulation.counters(service) == simulation.expected.counters
    service.close()
    return {**found, "exact": found["totals"] == wanted and counters}


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


SECTION = Section(
    "fleet",
    "2,000 contexts, 5 % faulty collectors, 2 % conflicts, 1 % crashing ingests: exact totals, no session left open, "
    "peak memory at most 1.2 times that of 200",
    _run,
)
