"""Both promises: any order, grouping and duplication gives the same bytes; cutting a stream changes only the counts."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution_lib.attributor import Attributor
from attribution_lib.events.table import EventManager
from attribution_lib.observation import ObservationFormat
from record_gaps import record_gaps
from sample_cases import CASES, ROOT, bundled_engine, evidence_of, verdict_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_lib.observation import Observation
    from attribution_lib.verdict import Verdict

# Samples of many sources and symptoms; every schedule is drawn over one of them.
RICH = tuple(case for case in CASES if len(evidence_of(case).observations) > 1)
SCHEDULES = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def as_bytes(verdict: Verdict) -> bytes:
    return verdict.model_dump_json(by_alias=True).encode()


def cut(observation: Observation, at: Sequence[int]) -> list[Observation]:
    """The same stream in pieces, cut after the lines whose numbers are given."""
    if observation.format is not ObservationFormat.TEXT:
        return [observation]
    lines = observation.text.splitlines(keepends=True)
    bounds = [0, *sorted({min(n, len(lines)) for n in at}), len(lines)]
    return [
        replace(
            observation,
            text=b"".join(lines[low:high]),
            first_line=low + 1,
            digest="",
            redacted=0 if low else observation.redacted,
        )
        for low, high in itertools.pairwise(bounds)
        if high > low
    ]


def comparable(verdict: Verdict) -> dict[str, Any]:
    """A verdict without what a different cut may change."""
    data = verdict.model_dump(mode="json", by_alias=True)
    data["evidence"].pop("observations")
    data.pop("based_on")
    if data["root_cause"]:
        data["root_cause"].pop("observation_id")
        data["root_cause"].pop("context")
    return data


@cache
def in_pieces(case: Path) -> tuple[list[Observation], bytes]:
    """The evidence of a sample in pieces, and what it gives all at once."""
    evidence = evidence_of(case)
    pieces = [piece for observation in evidence.observations for piece in cut(observation, [7, 13])]
    with Attributor(evidence.job, bundled_engine()) as attributor:
        attributor.ingest_batch(pieces)
        return pieces, as_bytes(attributor.attribute())


@SCHEDULES
@given(data=st.data())
def test_any_schedule_of_ingest_attribute_and_update_gives_the_same_bytes(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(RICH))
    evidence = evidence_of(case)
    pieces, wanted = in_pieces(case)
    order = data.draw(st.permutations(pieces + data.draw(st.lists(st.sampled_from(pieces), max_size=3))))
    early_job = replace(evidence.job, state="", exit_code="", end=None, start=None)
    start_early = data.draw(st.booleans())
    update_at = data.draw(st.integers(0, len(order)))
    looks = data.draw(st.sets(st.integers(0, len(order)), max_size=3))
    with Attributor(early_job if start_early else evidence.job, bundled_engine()) as attributor:
        for index, observation in enumerate(order):
            if index == update_at:
                attributor.update_job(evidence.job)
            if index in looks:
                attributor.attribute()
            attributor.ingest(observation)
        attributor.update_job(evidence.job)
        assert as_bytes(attributor.attribute()) == wanted
        assert as_bytes(attributor.attribute()) == wanted


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_row_ids_and_spills_leave_no_trace(data: st.DataObject) -> None:
    """Rows written in another order, through spills and snapshots, give the same bytes."""
    case = data.draw(st.sampled_from(RICH))
    evidence = evidence_of(case)
    spills = []
    for observation in evidence.observations:
        with Attributor(evidence.job, bundled_engine()) as one:
            one.ingest(observation)
            spills.append(one.events.export_spill())
    merged = EventManager()
    for number, spill in enumerate(data.draw(st.permutations(spills))):
        merged.import_spill(spill, spill_id=str(number))
    restored = EventManager.deserialize(merged.serialize())
    with Attributor(evidence.job, bundled_engine(), events=restored) as attributor:
        assert as_bytes(attributor.attribute()) == as_bytes(verdict_of(case))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_stream_cut_between_records_gives_the_same_verdict(case: Path) -> None:
    """Cut before every line that starts no indented or continued record."""
    evidence = evidence_of(case)
    pieces = [piece for one in evidence.observations for piece in cut(one, record_gaps(one))]
    with Attributor(evidence.job, bundled_engine()) as attributor:
        attributor.ingest_batch(pieces)
        assert comparable(attributor.attribute()) == comparable(verdict_of(case))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_hash_seeds_do_not_reach_a_verdict(seed: str) -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from hashlib import sha256\n"
        "from sample_cases import CASES, attribute, evidence_of\n"
        "print(sha256(''.join(attribute(evidence_of(c)).model_dump_json() for c in CASES).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "layers" / "engine"), str(ROOT / "layers" / "blueprint")])
    done = subprocess.run(  # noqa: S603 -- our own interpreter and program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    here = "".join(verdict_of(case).model_dump_json() for case in CASES)
    assert done.stdout.strip() == sha256(here.encode()).hexdigest()
