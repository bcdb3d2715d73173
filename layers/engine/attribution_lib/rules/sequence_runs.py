"""Running one ``[[sequence]]`` through a whole attribution and comparing the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.sequences import SequenceSample

__all__ = ["run_sequence"]


def run_sequence(sample: SequenceSample, engine: RuleEngine) -> tuple[str, ...]:
    """What differs between the verdict and the expectation; empty when nothing does."""
    raise NotImplementedError(sample, engine)
