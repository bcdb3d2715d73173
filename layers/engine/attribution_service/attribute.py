"""The verdict of a session over what is committed now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_service.model import Attribution
    from attribution_service.service import Caller, Service

__all__ = ["attribute", "attribute_later"]


def attribute(service: Service, caller: Caller, attributor_id: str, *, if_none_match: str | None = None) -> Attribution:
    """Ready (200), not modified (304; ``if_none_match`` is the header's text) or pending (202); ``NotFoundError``."""
    raise NotImplementedError


def attribute_later(service: Service, attributor_id: str) -> None:
    """The asynchronous invocation's work: everything ``attribute`` put off; a later ``attribute`` finds it done."""
    raise NotImplementedError
