"""Take one observation: redact, extract, put the spill, commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_service.model import Receipt
    from attribution_service.service import Caller, Service

__all__ = ["ingest"]


def ingest(
    service: Service, caller: Caller, attributor_id: str, body: bytes, *, content_type: str = "application/json"
) -> Receipt:
    """The receipt of a body as it came (raw bytes, gzip or not; inline, or naming an uploaded object): 201.

    Raises ``NotFoundError``, ``DuplicateObservationError``, ``ObservationConflictError``, ``TooLargeError``,
    ``UnsupportedMediaError``, ``InvalidRequestError``.
    """
    raise NotImplementedError
