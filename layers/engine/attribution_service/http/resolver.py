"""Powertools' REST resolver, usable by many threads at once.

The resolver that comes with Powertools keeps the event of a request on the class, so that in a threaded server one
request sees another's. Here whatever belongs to a request lives in a context variable; in Lambda that changes nothing.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

__all__ = ["Resolver"]

_REQUEST: ContextVar[dict[str, Any] | None] = ContextVar("attribution_request", default=None)


def _state() -> dict[str, Any]:
    """What belongs to the running request; outside of one an empty state that nobody keeps."""
    found = _REQUEST.get()
    return {} if found is None else found


def _kept(name: str, empty: type[Any] | None = None) -> Any:
    """An attribute that is kept per request; it starts as ``empty()`` where that is given."""

    def read(_: Resolver) -> Any:
        return _state().get(name) if empty is None else _state().setdefault(name, empty())

    def write(_: Resolver, value: Any) -> None:
        _state()[name] = value

    return property(read, write)


class Resolver(APIGatewayRestResolver):
    """``APIGatewayRestResolver`` without shared request state."""

    current_event = _kept("event")
    lambda_context = _kept("context")
    context = _kept("routing", dict)
    processed_stack_frames = _kept("frames", list)

    def resolve(self, event: Mapping[str, Any], context: Any, **routing: Any) -> dict[str, Any]:
        """The proxy answer to one event; ``routing`` is what the routes find in ``context``."""
        token = _REQUEST.set({"context": context, "routing": routing})
        try:
            return super().resolve(dict(event), context)
        finally:
            _REQUEST.reset(token)

    def _to_proxy_event(self, event: dict[str, Any]) -> BaseProxyEvent:
        made = super()._to_proxy_event(event)
        self.current_event = made
        return made
