"""The dashboard beside the API in one function: what came through the dashboard's own API is answered with pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CATCH_ALL", "with_pages"]

CATCH_ALL = "$default"
"""The route key of an event that came through the catch-all route of the dashboard's API."""


def with_pages(handler: Callable[[dict[str, Any], Any], Any]) -> Callable[[dict[str, Any], Any], Any]:
    """A handler that also answers requests for pages."""

    def handle(event: dict[str, Any], context: Any) -> Any:
        return _page(event, context) if event.get("routeKey") == CATCH_ALL else handler(event, context)

    return handle


def _page(event: dict[str, Any], context: Any) -> Any:
    # Templates take a while to import, and calls of the API need none of them.
    from attribution_blueprint.sample_cases import sample_cases, sample_folder  # noqa: PLC0415 -- see above
    from attribution_service.http.host import host_of  # noqa: PLC0415 -- see above
    from dashboard.pages.entry import serve_page  # noqa: PLC0415 -- see above

    host = host_of(context)
    library = getattr(context, "attribution_library", None)
    return serve_page(event, host, library, lambda: sample_cases(sample_folder()))
