"""What a thousandfold of the same line costs: nothing in state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import attributor, ingest_text, load_rules
from harness import Bench, Outcome, Section, rate, watch

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["SECTION"]

_FEW = 1_000
_MANY = 1_000_000
_LINE = (
    "2026-06-01T03:{minute:02d}:{second:02d}.{micro:06d}Z [rank3]: "
    "RuntimeError: CUDA error: device-side assert triggered\n"
)
_BATCHES = 8
"""Either text comes in as many pieces: what a delivered batch is noted with does not depend on repeats."""
_SLACK = 1.10
"""Counts get more digits; the number of rows stays."""


def _run(bench: Bench) -> Outcome:
    engine = load_rules(bench.cache)
    few, many = _repeat(engine, _FEW), _repeat(engine, bench.count(_MANY))
    met = many["rows"] == few["rows"] and many["spill_bytes"] <= few["spill_bytes"] * _SLACK
    return Outcome({"few": few, "many": many}, met)


def _repeat(engine: RuleEngine, count: int) -> dict[str, Any]:
    spread = 3_600_000_000 // count
    moments = (number * spread for number in range(count))
    data = "".join(
        _LINE.format(minute=moment // 60_000_000, second=moment // 1_000_000 % 60, micro=moment % 1_000_000)
        for moment in moments
    ).encode()
    with attributor(engine) as target:
        with watch() as spent:
            ingest_text(target, data, piece=len(data) // _BATCHES + 1)
        return {
            "lines": count,
            "batches": len(target.events.observations()),
            "rows": len(target.events.load()),
            "occurrences": sum(event.occurrences for event in target.events.load()),
            "state_bytes": len(target.events.serialize()),
            "spill_bytes": len(target.events.export_spill()),
            "mb_per_s": rate(len(data), spent.cpu),
            "memory_mib": round(spent.grown),
        }


SECTION = Section(
    "repeats", "1,000 and 1,000,000 repeats of a line leave the same rows and 10 % more bytes at most", _run
)
