"""Phase 4: run the collectors; each returns a dictionary for the reader and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.rules.contexts import CollectorContext

if TYPE_CHECKING:
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.phases.refine import CrashLog
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["collect"]


def collect(stream: EventStream, job: JobInfo, engine: RuleEngine, crashes: CrashLog) -> dict[str, Any]:
    """{collector name: what it returned}, by name; a collector that raises is a diagnostic and has no entry."""
    context = CollectorContext(stream, job)
    found: dict[str, Any] = {}
    for rule in sorted(engine.collectors, key=lambda rule: rule.provenance.name):
        try:
            found[rule.provenance.name] = rule.apply(context)
        except Exception as error:  # noqa: BLE001 -- whatever a collector raises must not cost the job its verdict
            crashes.record(rule.provenance, error)
    return found
