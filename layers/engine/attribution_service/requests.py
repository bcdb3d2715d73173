"""JSON bodies of requests to models, with every fault and its field path."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.settings import ServiceLimits

__all__ = ["read_json_object", "read_request", "validated"]

M = TypeVar("M", bound=BaseModel)


def read_request(model: type[M], body: bytes, limits: ServiceLimits) -> M:
    """The request of a JSON body; ``TooLargeError``, ``InvalidRequestError`` naming every field that is wrong."""
    raise NotImplementedError


def read_json_object(body: bytes, limits: ServiceLimits) -> dict[str, object]:
    """A JSON object within the limits of size and depth, duplicate keys refused."""
    raise NotImplementedError


def validated(model: type[M], values: Mapping[str, object], *, where: str = "") -> M:
    """The model of values that are not from a body (query parameters); ``InvalidRequestError``."""
    raise NotImplementedError
