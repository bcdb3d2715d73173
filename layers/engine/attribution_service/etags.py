"""What a verdict stands on, as one digest: equal tags mean the very same bytes."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from attribution_lib.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_service.records import Batch, Session

__all__ = ["based_on", "etag_of", "matches"]


def based_on(batches: Iterable[Batch]) -> str:
    """The digest that the verdict over these batches carries in ``based_on``."""
    digest = sha256()
    for identity in sorted(f"{batch.observation_id}\0{batch.digest}" for batch in batches):
        digest.update(f"{identity}\n".encode())
    return digest.hexdigest()


def etag_of(session: Session, batches: Iterable[Batch], rules_digest: str) -> str:
    """SHA-256 (hex) over batches, job, rules and engine. A job's version counts within its generation only."""
    parts = (based_on(batches), f"{session.generation}/{session.job_ver}", rules_digest, __version__)
    return sha256("\n".join(parts).encode()).hexdigest()


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether an ``If-None-Match`` header names this tag (weakly compared, as RFC 9110 wants it there)."""
    if if_none_match is None:
        return False
    given = [tag.strip().removeprefix("W/").strip('"') for tag in if_none_match.split(",")]
    return etag in given or given == ["*"]
