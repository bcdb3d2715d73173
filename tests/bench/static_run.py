"""A thousand jobs through a whole run: discover, collect, submit, attribute, write."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness import Bench, Outcome, Section, watch

from attribution_blueprint.connectors.attribution.base import AttributionSettings
from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.settings import read_configuration

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SECTION"]

_JOBS = 1_000
_SECONDS = 120.0


def _run(bench: Bench) -> Outcome:
    count = bench.count(_JOBS)
    folder = bench.folder / "static-run"
    file = _configuration(folder, count)
    service = InProcessAttribution(AttributionSettings(data=str(folder / "store")))
    service.check()
    orchestrator = Orchestrator(read_configuration(file, {}), service)
    started = time.perf_counter()
    with watch() as spent:
        orchestrator.run()
    wall = time.perf_counter() - started
    service.close()
    done = orchestrator.last_run_stats["succeeded"]
    figures = {"contexts": count, "succeeded": done, "cpu_s": round(spent.cpu, 1), "wall_s": round(wall, 1)}
    figures |= {"cpu_ms_per_context": round(spent.cpu / count * 1000, 1), "grown_mib": round(spent.grown)}
    return Outcome(figures, done == count and spent.cpu <= _SECONDS * count / _JOBS)


def _configuration(folder: Path, count: int) -> Path:
    for number in range(count):
        case = folder / "cases" / f"job-{number:04d}"
        case.mkdir(parents=True)
        (case / "job.toml").write_text(
            f'job_id = "{number}"\ncluster = "bench"\nstate = "FAILED"\nnodes = ["n{number}"]\n'
        )
        lines = [f"epoch {line} done" for line in range(200)]
        (case / "applog.log").write_text("\n".join([*lines, "RuntimeError: CUDA error: an illegal memory access\n"]))
    path = folder / "site.toml"
    path.write_text(
        f'[eca.static]\ncases = ["{folder}/cases"]\n[log.app.file]\n[output.db.sqlite]\npath = "{folder}/verdicts.db"\n'
    )
    return path


SECTION = Section("static_run", "1,000 static contexts through a run in at most 120 s of CPU", _run)
