"""Write the database that the browser's tests look at: some samples, and verdicts that are hard to show."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence, load_engine
from attribution_service.times import rfc3339
from attribution_service.verdict_database import VerdictDatabase
from pages_kit import HOSTILE, SAMPLES, hostile_verdict, huge_verdict, pairs_verdict, partial_verdict

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
        job = {**verdict.job, "job_id": f"job-{number:03d}"}
        database.append(verdict.model_copy(update={"run_id": "run-1", "attributed_at": at, "job": job}))
    database.append_all(hostile_verdict(engine, kind) for kind in range(len(HOSTILE)))
    database.append_all(make(engine) for make in (partial_verdict, pairs_verdict, huge_verdict))
    database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
