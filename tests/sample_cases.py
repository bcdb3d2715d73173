"""The labelled samples as values, for tests that run over all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attribution_lib
from attribution_blueprint.case_files import Evidence, read_case_folder
from attribution_lib.attributor import Attributor

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
CASES = tuple(sorted(path.parent for path in (ROOT / "samples" / "cases").glob("*/job.toml")))


@cache
def bundled_engine() -> RuleEngine:
    """The engine of the rules of this checkout."""
    return attribution_lib.setup_rules()


@cache
def evidence_of(case: Path) -> Evidence:
    """One sample's job and observations."""
    return read_case_folder(case)


def attribute(evidence: Evidence) -> Verdict:
    """The raw verdict over one sample."""
    with Attributor(evidence.job, bundled_engine()) as attributor:
        attributor.ingest_batch(evidence.observations)
        return attributor.attribute()


@cache
def verdict_of(case: Path) -> Verdict:
    """The raw verdict over one sample as it lies there, for all tests that compare others with it."""
    return attribute(evidence_of(case))


SPREAD = CASES[::6]
"""A spread of samples for tests that start a process."""
