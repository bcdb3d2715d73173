"""The dashboard as a function sees it: one catch-all route of an API of its own, whose authorizer checks tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.pages.answering import answer
from dashboard.pages.exchange import PageAnswer
from dashboard.pages.gateway import has_claims, proxy_answer, read_event
from dashboard.pages.library import Library
from dashboard.pages.security import SECURITY_HEADERS
from dashboard.readers.store import StoreReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attribution_service.http.host import Host
    from attribution_service.service import Caller
    from dashboard.reading import VerdictReader
    from dashboard.site import Sample

__all__ = ["library_of", "serve_page"]

_UNKNOWN = PageAnswer(401, b"A token of the identity provider is needed.", "text/plain; charset=utf-8")


def library_of(host: Host, samples: Callable[[], Sequence[Sample]]) -> Library:
    """Over the service's own tables."""
    service = host.service

    def reader(caller: Caller) -> VerdictReader:
        return StoreReader(service, caller=caller)

    return Library(reader, service.engine, service.clock, samples)


def serve_page(
    event: Mapping[str, Any], host: Host, given: Library | None, samples: Callable[[], Sequence[Sample]]
) -> dict[str, Any]:
    """The gateway's answer to an event.

    ``given``: the local server's library, whose guard has let the caller in. Without it the library is the
    deployment's, and only callers that the authorizer vouches for are answered.
    """
    if given is None and not has_claims(event):
        return proxy_answer(PageAnswer(_UNKNOWN.status, _UNKNOWN.body, _UNKNOWN.content_type, SECURITY_HEADERS))
    request = read_event(event, host.access)
    library = given if given is not None else library_of(host, samples)
    return proxy_answer(answer(library, request), with_body=request.method != "HEAD")
