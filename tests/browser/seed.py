"""Write the database that the browser's tests look at: some samples, and verdicts that are hard to show."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence, load_engine
from attribution_service.times import rfc3339
from attribution_service.verdict_database import VerdictDatabase
from dashboard_kit import Failure
from pages_kit import HOSTILE, SAMPLES, hostile_verdict, huge_verdict, pairs_verdict, partial_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY = 86_400
_EVERY = 6
"""One sample of so many."""
_LATEST = 1_780_394_400
"""2026-06-02T10:00:00Z."""


def main(path: Path) -> None:
    """Real runs of the engine, except for what only a stranger's program would have stored."""
    engine = load_engine()
    database = VerdictDatabase.open(path)
    cases = sorted(SAMPLES.iterdir())[::_EVERY]
    for number, case in enumerate(cases):
        verdict = attribute_evidence(read_case_folder(case), engine)
        at = rfc3339(_LATEST - number * 5_400)
        job = {**verdict.job, "cluster": "c1", "job_id": f"job-{number:03d}"}
        database.append(verdict.model_copy(update={"run_id": "run-1", "attributed_at": at, "job": job}))
    database.append_all(hostile_verdict(engine, kind) for kind in range(len(HOSTILE)))
    database.append_all(make(engine) for make in (partial_verdict, pairs_verdict, huge_verdict))
    database.append_all(failure.verdict() for failure in planted())
    database.close()


def planted() -> Iterator[Failure]:
    """500 failures of a month: chance, one cohort (12 jobs, 3 neighbours, 40 minutes), one node that fails 9 times."""
    dice = random.Random(3)  # noqa: S311 -- a test's dice
    until = _LATEST - 40 * _DAY
    kinds = ("PCIe fatal error (AER)", "Node failed (Slurm)", "NIC port down", "Machine check")

    def failed(number: int, node: str, at: float, symptom: str) -> Failure:
        return Failure(f"{number}", "fleet", at=int(at), nodes=(node,), bad=(node,), symptom=symptom)

    for number in range(479):
        at = until - dice.uniform(0, 30) * _DAY
        yield failed(10_000 + number, f"node-{dice.randrange(600):04d}", at, dice.choice(kinds))
    for number in range(12):
        at = until - 5 * _DAY + number / 11 * 2_400
        yield failed(20_000 + number, f"node-{701 + number % 3:04d}", at, "Leaf switch lost power")
    for number in range(9):
        yield failed(30_000 + number, "node-0042", until - (number + 0.5) * 3 * _DAY, "GPU is lost")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
