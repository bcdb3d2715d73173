"""The commit protocol of one batch: spill first, then one conditional write, then a look back at the session."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from attribution_service.errors import (
    DuplicateObservationError,
    NotFoundError,
    ObservationConflictError,
    StoreError,
    TooLargeError,
)
from attribution_service.live import keys_of, stored_session
from attribution_service.model import Receipt
from attribution_service.ports import ItemChangedError, ItemExistsError
from attribution_service.records import SESSION_SK, Batch, batch_sk, session_pk

if TYPE_CHECKING:
    from attribution_service.extraction import Extracted
    from attribution_service.records import Session
    from attribution_service.service import Service

__all__ = ["Identity", "commit", "known_batch", "refuse_if_full", "refuse_if_known"]

_COUNTED_EVERY = 64
_CLOSE_TO_FULL = 1_000


@dataclass(frozen=True, slots=True)
class Identity:
    """Which batch this is, and of what bytes."""

    observation_id: str
    digest: str
    raw_sha: str
    raw: str = ""
    """Object key of the kept body."""


def commit(service: Service, session: Session, identity: Identity, extracted: Extracted, rules_digest: str) -> Receipt:
    """Make the batch part of the session, or say why it is not.

    ``DuplicateObservationError`` with the first receipt, ``ObservationConflictError``, ``NotFoundError`` when the
    session went away meanwhile.
    """
    spill = keys_of(session).spill(identity.observation_id, identity.raw_sha, rules_digest)
    batch = Batch(
        attributor_id=session.attributor_id,
        generation=session.generation,
        observation_id=identity.observation_id,
        spill=spill,
        raw_sha=identity.raw_sha,
        digest=identity.digest,
        raw=identity.raw,
        lines=extracted.lines,
        bytes=extracted.bytes,
        truncated_lines=extracted.truncated_lines,
        redacted=extracted.redacted,
        events=extracted.events,
        rules_digest=rules_digest,
        at=service.now(),
        ttl=session.expires_at + 3600,
        nonce=secrets.token_hex(8),
        crashes=extracted.crashes,
    )
    try:
        service.store.put_batch(spill, extracted.spill, batch.item())
    except ItemExistsError:
        known = known_batch(service, session, identity.observation_id)
        if known is None or known.nonce != batch.nonce:
            refuse_if_known(known, identity)
            raise _gone(session) from None  # it was there and is not: only its generation's end removes a batch
    return _look_back(service, session, batch)


def known_batch(service: Service, session: Session, observation_id: str) -> Batch | None:
    """The committed batch of this id, if there is one."""
    pk = session_pk(session.attributor_id)
    item = service.store.sessions.get(pk, batch_sk(session.generation, observation_id))
    return None if item is None else Batch.of(item)


def refuse_if_known(known: Batch | None, identity: Identity) -> None:
    """Tell a redelivery from another content under the same id; nothing when the id is new."""
    if known is None:
        return
    if known.digest != identity.digest:
        raise ObservationConflictError(
            "another content was delivered under this id; this one was not taken",
            observation_id=known.observation_id,
        )
    raise DuplicateObservationError("delivered before", receipt=_receipt(known).model_dump())


def refuse_if_full(service: Service, session: Session, observation_id: str) -> None:
    """``TooLargeError`` when the session holds as many observations as it may and this would be another.

    Counting a partition costs more than the write that it guards, so far from the limit it is counted now and then only
    (and the count noted, which also tells the listing); close to it always.
    """
    limit = service.settings.limits.observations_per_session
    now_and_then = crc32(observation_id.encode()) % _COUNTED_EVERY == 0
    if session.batches + _CLOSE_TO_FULL < limit and not now_and_then:
        return
    pk = session_pk(session.attributor_id)
    count = service.store.sessions.count(pk, batch_sk(session.generation))
    if now_and_then and count > session.batches:
        with suppress(ItemChangedError):
            expect = {"generation": session.generation, "batches": session.batches}
            service.store.sessions.update(pk, SESSION_SK, {"batches": count}, expect=expect)
    if count >= limit and known_batch(service, session, observation_id) is None:
        raise TooLargeError(f"the session holds {count} observations", limit=limit)


def _look_back(service: Service, session: Session, batch: Batch) -> Receipt:
    """The receipt, unless the session was deleted since our first read of it: then nobody will ever see the batch."""
    found = stored_session(service, session.attributor_id)
    if found is not None and found.generation == session.generation and found.expires_at > service.now():
        return _receipt(batch)
    if found is None or found.generation != session.generation:
        with suppress(StoreError):  # tidying up: what stays behind expires
            pk = session_pk(session.attributor_id)
            service.store.sessions.delete(pk, batch_sk(batch.generation, batch.observation_id))
            service.store.objects.delete_all([key for key in (batch.spill, _own_raw(session, batch)) if key])
    raise _gone(session)


def _own_raw(session: Session, batch: Batch) -> str:
    """The kept body where it belongs to the session; evidence outlives it."""
    return batch.raw if batch.raw.startswith(keys_of(session).prefix) else ""


def _gone(session: Session) -> NotFoundError:
    return NotFoundError("the session was deleted or expired meanwhile", attributor_id=session.attributor_id)


def _receipt(batch: Batch) -> Receipt:
    return Receipt(
        observation_id=batch.observation_id,
        lines=batch.lines,
        events=batch.events,
        truncated_lines=batch.truncated_lines,
        redacted=batch.redacted,
    )
