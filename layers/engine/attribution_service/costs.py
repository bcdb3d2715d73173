"""What a run on AWS costs: counted requests, state transitions and invocations, times list prices of us-east-1.

``scripts/workflow_cost.py`` counts them on an emulated account and says what these figures must be; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.run_records import IN_PROCESS

if TYPE_CHECKING:
    from attribution_service.run_records import RunRecord, RunTotals

__all__ = ["CONTEXT", "FLEET", "KNOWN_CONTEXT", "OBSERVATION", "estimate"]

CONTEXT = 0.000_79
"""Dollars for one context with two collectors, besides its observations."""
KNOWN_CONTEXT = 0.000_19
"""Dollars for one that ends early: it has a verdict already, or somebody else's session is in the way."""
OBSERVATION = 0.000_016
"""Dollars for each observation on top."""
FLEET = 0.000_21
"""Dollars for what a fleet does once."""


def estimate(record: RunRecord, totals: RunTotals) -> float:
    """Dollars of what a run has done so far; nothing for one in a single process, which asks AWS for nothing."""
    if record.runner == IN_PROCESS:
        return 0.0
    known = totals.found + totals.conflicted
    done = totals.contexts - totals.pending - known
    return FLEET + done * CONTEXT + known * KNOWN_CONTEXT + totals.observations * OBSERVATION
