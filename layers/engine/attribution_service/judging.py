"""Bring a session's state up to its committed batches and run the engine on it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_lib.attributor import Attributor
from attribution_lib.errors import StoreFormatError
from attribution_lib.events.table import EventManager
from attribution_lib.verdict import Diagnostic
from attribution_service.snapshots import load_snapshot, publish_snapshot
from attribution_service.spills import extract_kept, fetch_spills

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.verdict import Verdict
    from attribution_service.records import Batch, Session
    from attribution_service.service import Service
    from attribution_service.spills import Spill

__all__ = ["Judged", "judge"]

_PUBLISH_EVERY = 10_000
"""Spills after which a long run saves what it has, so that a crash does not lose all of it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict over all of the batches; not ``whole`` when a spill could not be read, so it must not be kept."""

    verdict: Verdict
    spills_read: int
    whole: bool


@dataclass(slots=True)
class _Missed:
    stale: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    lost_bodies: bool = False


def judge(service: Service, session: Session, batches: Mapping[str, Batch], engine: RuleEngine, job: JobInfo) -> Judged:
    """The verdict over exactly these batches; what was read for it is published as the session's snapshot.

    Raises ``ObjectMissingError`` when something that the session named is gone.
    """
    events = load_snapshot(service, session, engine.digest)
    if not events.spill_ids() <= batches.keys():  # cannot be, as the batches were read after the pointer
        events.close(flush=False)
        events = EventManager(rules_digest=engine.digest)
    with Attributor(job, engine, events=events) as attributor:
        have = events.spill_ids()
        missing = [batches[name] for name in sorted(batches.keys() - have)]
        delivered = sum(batches[name].events for name in have)
        missed = _bring_up(service, session, events, missing, engine, delivered=delivered)
        verdict = attributor.attribute()
    findings = [*verdict.diagnostics, *_crashes(batches.values()), *_old(batches.values(), missed, engine)]
    findings.sort(key=lambda found: (found.rule, found.location, found.error))
    whole = not missed.unreadable and not missed.lost_bodies
    return Judged(verdict.model_copy(update={"diagnostics": findings}), len(missing), whole)


def _bring_up(  # noqa: PLR0913 -- keyword-only beyond the first five
    service: Service,
    session: Session,
    events: EventManager,
    missing: list[Batch],
    engine: RuleEngine,
    *,
    delivered: int,
) -> _Missed:
    """Import what is missing and publish; a pointer that others moved meanwhile is left to them."""
    missed = _Missed()
    current: Session | None = session
    for start in range(0, len(missing), _PUBLISH_EVERY):
        for spill in fetch_spills(service, session, missing[start : start + _PUBLISH_EVERY], engine):
            if spill.stale:
                missed.stale.add(spill.batch.observation_id)
                missed.lost_bodies = missed.lost_bodies or bool(spill.batch.raw)
            delivered += spill.batch.events
            if not _imported(service, session, events, spill, engine):
                missed.unreadable.add(spill.batch.observation_id)
        if current is not None and not missed.lost_bodies:
            current = publish_snapshot(service, current, events, engine.digest, delivered=delivered)
    return missed


def _imported(service: Service, session: Session, events: EventManager, spill: Spill, engine: RuleEngine) -> bool:
    """Add a spill; one that an older version wrote in another form is extracted again if its body was kept."""
    spill_id = spill.batch.observation_id
    try:
        events.import_spill(spill.data, spill_id=spill_id)
    except StoreFormatError:
        if not spill.batch.raw:
            return False
        events.import_spill(extract_kept(service, session, spill.batch, engine), spill_id=spill_id)
    return True


def _crashes(batches: Iterable[Batch]) -> list[Diagnostic]:
    """Rules that raised when the batches were extracted."""
    counts: dict[tuple[str, str, str], int] = {}
    for batch in batches:
        for text in batch.crashes:
            rule, location, error, count = json.loads(text)
            counts[rule, location, error] = counts.get((rule, location, error), 0) + count
    return [
        Diagnostic(rule=rule, location=location, error=error, count=count)
        for (rule, location, error), count in counts.items()
    ]


def _old(batches: Iterable[Batch], missed: _Missed, engine: RuleEngine) -> list[Diagnostic]:
    """Batches whose events are of other rules because their body was not kept, and those that nobody can read."""
    unkept = {batch.observation_id for batch in batches if batch.rules_digest != engine.digest and not batch.raw}
    findings = []
    if stale := unkept | missed.stale:
        error = "extracted with other rules than these; its body was not kept"
        findings.append(Diagnostic(rule="stale_extraction", location="", error=error, count=len(stale)))
    if missed.unreadable:
        error = "extracted by a version that this one cannot read; its body was not kept"
        findings.append(
            Diagnostic(rule="unreadable_extraction", location="", error=error, count=len(missed.unreadable))
        )
    return findings
