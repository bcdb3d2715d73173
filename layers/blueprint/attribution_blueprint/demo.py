"""A database of the samples' verdicts to look at the dashboard with: real runs of the engine, over two weeks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.local import attribute_evidence
from attribution_service.times import SECONDS_A_DAY, rfc3339
from attribution_service.verdict_database import VerdictDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

__all__ = ["seed_demo"]

_DAYS = 14


def seed_demo(
    path: Path,
    samples: Path,
    engine: RuleEngine,
    tell: Callable[[int, int], None] = lambda _done, _of: None,
    *,
    clock: Callable[[], float] = time.time,
) -> int:
    """Attribute every sample into a new database and return how many; ``tell(done, of)`` after each.

    ``EvidenceError`` when there are no samples. Two samples of one job id are two attempts of it.
    """
    folders = sorted(folder for folder in samples.iterdir() if folder.is_dir()) if samples.is_dir() else []
    if not folders:
        msg = f"{samples}: holds no samples; expected a checkout, or a package that carries them"
        raise EvidenceError(msg)
    database = VerdictDatabase.open(path)
    try:
        database.append_all(_verdicts(folders, engine, int(clock()), tell))
    finally:
        database.close()
    return len(folders)


def _verdicts(
    folders: list[Path], engine: RuleEngine, now: int, tell: Callable[[int, int], None]
) -> Iterator[EnrichedVerdict]:
    attempts: dict[tuple[str, str], int] = {}
    step = _DAYS * SECONDS_A_DAY // len(folders)
    for number, folder in enumerate(folders):
        verdict = attribute_evidence(read_case_folder(folder), engine)
        job = verdict.job
        key = (str(job["cluster"]), str(job["job_id"]))
        attempt = attempts.get(key, int(job["attempt"]))
        attempts[key] = attempt + 1
        # Neighbours in the alphabet are of one kind; every 37th of them next to one another mixes the list.
        at = now - (number * 37 % len(folders)) * step - 60
        yield verdict.model_copy(
            update={"run_id": "demo", "attributed_at": rfc3339(at), "job": {**job, "attempt": attempt}}
        )
        tell(number + 1, len(folders))
