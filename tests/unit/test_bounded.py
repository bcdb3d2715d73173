"""A verdict never outgrows what it may have on the wire, and says what it left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.phases.bounded import VERDICT_BYTES, bounded
from engine_kit import applog, engine_of, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.verdict import Verdict

COLLECTOR = """
from attribution_lib.rule_api import collector_def

@collector_def("Hoard", author="t")
def hoard(context):
    \"\"\"Rows without end.\"\"\"
    return {"rows": ["x" * 100] * 60_000}
"""


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    return verdict_of(engine_of(tmp_path_factory.mktemp("rules")), applog("PART BROKE", node="n1"))


def _size(verdict: Verdict) -> int:
    return len(verdict.model_dump_json(by_alias=True).encode())


def test_what_fits_is_left_as_it_is(verdict: Verdict) -> None:
    assert bounded(verdict) is verdict


def test_the_longest_lists_are_cut_with_their_totals_kept(verdict: Verdict) -> None:
    node = verdict.bad_nodes[0].model_copy(update={"why": "x" * 2_000})
    row = verdict.symptoms[0].model_copy(update={"node_list": ["n" * 250] * 32})
    big = verdict.model_copy(
        update={
            "bad_nodes": [node] * 1_000,
            "bad_nodes_total": 9_000,
            "symptoms": [row] * 1_500,
            "collections": {
                "ranks": {f"rank{rank}": "y" * 200 for rank in range(30_000)},
                "pairs": ["z" * 99] * 20_000,
            },
        }
    )
    assert _size(big) > 3 * VERDICT_BYTES
    cut = bounded(big)
    assert _size(cut) <= VERDICT_BYTES
    assert (cut.outcome, cut.root_cause, cut.bad_nodes_total) == (big.outcome, big.root_cause, 9_000)
    assert cut.bad_nodes[0] == node
    (note,) = [note for note in cut.notes if note not in big.notes]
    assert note.startswith("Cut to 4 MB: symptoms ")
    assert f"symptoms {len(cut.symptoms)} of 1500 rows" in note


def test_what_a_rule_collects_without_bound_is_cut_too(tmp_path: Path) -> None:
    verdict = verdict_of(engine_of(tmp_path, python=COLLECTOR), applog("PART BROKE", node="n1"))
    assert _size(verdict) <= VERDICT_BYTES
    assert len(verdict.collections["Hoard"]["rows"]) == 30_000
    assert any("collections 30000 of 60000 rows" in note for note in verdict.notes)
