"""The promises of the commit protocol under threads, crashes, replaced sessions and changing rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_service.stores.crashing import CrashPlan
from service_kit import local_folder_store, moto_store
from service_torture import Plan, Torture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("crash", [0.0, 0.03], ids=["nothing crashes", "crashes"])
def test_no_acknowledged_batch_is_lost_or_counted_twice_on_the_local_store(folder: Path, crash: float) -> None:
    within = CrashPlan(crash / 4, seed=13)
    with local_folder_store(folder / "store", step=within.point) as store:
        ledger = Torture(store, folder, Plan(operations=5_100, crash=crash, seed=11), within).run()
    assert (within.crashes > 0) == (crash > 0)
    assert ledger.violations == []
    assert sum(ledger.counts.values()) >= 5_000  # operations, twice: with and without crashes
    for answer in ("created", "duplicate", "conflict"):
        assert ledger.counts[answer] > 0


def test_no_acknowledged_batch_is_lost_or_counted_twice_on_s3_and_dynamodb(
    folder: Path,
) -> None:
    with moto_store() as store:
        ledger = Torture(store, folder, Plan(operations=300, crash=0.02, replace_every=60, seed=12)).run()
    assert ledger.violations == []
    assert ledger.counts["created"] > 0
