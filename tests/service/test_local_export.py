"""The local store's items as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlite_utils

from attribution_lib.verdict import Verdict
from attribution_service.attribute import attribute
from attribution_service.result import enrich_attribution_result
from attribution_service.service import EVERYTHING
from attribution_service.stores.local_export import export_tables
from attribution_service.verdicts import write_verdict

if TYPE_CHECKING:
    from pathlib import Path

    from service_kit import World


def test_everything_is_a_row_with_named_columns(world: World, folder: Path) -> None:
    world.open()
    world.send("PART BROKE", source="syslog", node="n1")
    world.send("nothing")
    raw = Verdict.model_validate_json(attribute(world.service, EVERYTHING, "s").verdict)
    write_verdict(
        world.service,
        EVERYTHING,
        enrich_attribution_result(raw, attributor_id="s", run_id="r", attributed_at=None),
    )
    target = folder / "copy.db"
    for _ in range(2):
        counts = export_tables(folder / "store", target)
    assert {name: count for name, count in counts.items() if count} == {
        "sessions": 1,
        "batches": 2,
        "verdicts": 1,
        "nodes": 1,
        "counters": 1,
    }
    copy = sqlite_utils.Database(target)
    rows = list(copy.query("SELECT v.job_id, v.symptom, s.cluster FROM verdicts v JOIN sessions s USING (job_id)"))
    copy.close()
    assert rows == [{"job_id": "4711", "symptom": "Part broke", "cluster": "default"}]
