"""No filter, refiner or cascade may be taken away without a situation beside the rules that then comes out wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.sample_cases import bundled_engine

from attribution_lib.rules.faults import FaultLog
from attribution_lib.rules.folders import resolve_folders
from attribution_lib.rules.samples import read_samples
from attribution_lib.rules.sequence_runs import run_sequence, sequence_verdict

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.sequences import SequenceSample


@cache
def _situations() -> list[tuple[SequenceSample, frozenset[str]]]:
    """Every situation, with the rules that the verdict says have set something aside in it."""
    engine, faults = bundled_engine(), FaultLog()
    files = [file for folder in resolve_folders(None) for file in read_samples(folder, engine, faults)]
    faults.raise_if_any()
    found = [sample for file in files for sample in file.sequences]
    return [(sample, _changed_by(sample, engine)) for sample in found]


def _changed_by(sample: SequenceSample, engine: RuleEngine) -> frozenset[str]:
    return frozenset(row.changed_by for row in sequence_verdict(sample, engine).symptoms if row.changed_by)


def _without(rule: str) -> RuleEngine:
    engine = bundled_engine()
    return replace(
        engine,
        filters=tuple(one for one in engine.filters if one.provenance.name != rule),
        refiners=tuple(one for one in engine.refiners if one.provenance.name != rule),
        _by_name={},
        _staged=set(),
    )


@pytest.mark.parametrize(
    "rule", [one.provenance.name for one in (*bundled_engine().filters, *bundled_engine().refiners)]
)
def test_some_situation_fails_without_the_rule(rule: str) -> None:
    engine = _without(rule)
    likely_first = sorted(_situations(), key=lambda situation: rule not in situation[1])
    assert any(run_sequence(sample, engine) for sample, _ in likely_first)
