"""Bodies too large for a request: announced, put directly into the store, then named by an observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_service.model import UploadRequest, UploadTicket
    from attribution_service.service import Caller, Service

__all__ = ["issue_upload"]


def issue_upload(service: Service, caller: Caller, attributor_id: str, request: UploadRequest) -> UploadTicket:
    """A one-time URL for one object of this session: 201; ``NotFoundError``, ``TooLargeError``."""
    raise NotImplementedError
