"""Fetching spills: many at once, in order; one of other rules is extracted again where its body was kept."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.deliver import job_identity
from attribution_service.extraction import extract
from attribution_service.kept import read_kept
from attribution_service.live import keys_of
from attribution_service.ports import ObjectExistsError, ObjectMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.records import Batch, Session
    from attribution_service.service import Service

__all__ = ["Spill", "extract_kept", "fetch_spills"]

_AHEAD = 64
"""Spills that may wait in memory for their turn."""
_TOGETHER = 4
"""Spills that a thread fetches before it hands them on: where they are near, handing over costs more than reading."""


@dataclass(frozen=True, slots=True)
class Spill:
    """One batch's events as stored; ``stale`` when they are of other rules and the body was not kept."""

    batch: Batch
    data: bytes
    stale: bool = False


def fetch_spills(service: Service, session: Session, batches: Sequence[Batch], engine: RuleEngine) -> Iterator[Spill]:
    """The spills of these batches, in their order; ``ObjectMissingError`` when one is gone."""
    threads = service.settings.fetch_threads
    size = max(1, min(_TOGETHER, len(batches) // threads))
    parts = (batches[start : start + size] for start in range(0, len(batches), size))
    if len(batches) == 1:
        yield from _fetch_all(service, session, batches, engine)
        return
    waiting: deque[Future[list[Spill]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(_fetch_all, service, session, part, engine))
                if len(waiting) * size >= _AHEAD:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def extract_kept(service: Service, session: Session, batch: Batch, engine: RuleEngine) -> bytes:
    """The spill of a kept body under these rules; ``ObjectMissingError`` when the body is gone."""
    with service.store.objects.open(batch.raw) as stream:
        slabs = read_kept(stream, service.settings.limits.slab_bytes)
        return extract(engine, job_identity(session), slabs, redacted=batch.redacted).spill


def _fetch_all(service: Service, session: Session, batches: Sequence[Batch], engine: RuleEngine) -> list[Spill]:
    return [_fetch(service, session, batch, engine) for batch in batches]


def _fetch(service: Service, session: Session, batch: Batch, engine: RuleEngine) -> Spill:
    objects = service.store.objects
    if batch.rules_digest == engine.digest:
        return Spill(batch, objects.get(batch.spill))
    key = keys_of(session).spill(batch.observation_id, batch.raw_sha, engine.digest)
    with suppress(ObjectMissingError):
        return Spill(batch, objects.get(key))
    if batch.raw:
        with suppress(ObjectMissingError):
            data = extract_kept(service, session, batch, engine)
            with suppress(ObjectExistsError):
                objects.put(key, data, if_absent=True)
            return Spill(batch, data)
    return Spill(batch, objects.get(batch.spill), stale=True)
