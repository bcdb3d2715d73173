"""Walking several partitions page by page, with one cursor for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError
from attribution_service.stores.cursors import decode_cursor, encode_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attribution_service.ports import Item, Page
    from attribution_service.settings import ServiceLimits

__all__ = ["page_limit", "walk"]

_ROUNDS = 40
"""Reads for one page at most: a filter that nothing passes must not walk a whole table."""


def page_limit(limit: int | None, limits: ServiceLimits) -> int:
    """The page size asked for, or the default; ``InvalidRequestError`` outside of the limits."""
    if limit is None:
        return limits.page_default
    if not 1 <= limit <= limits.page_max:
        fault = Fault("limit", "", f"{limit}", f"1 to {limits.page_max}")
        raise InvalidRequestError("the page limit is not valid", [fault])
    return limit


def walk(
    partitions: Sequence[str],
    fetch: Callable[[str, str | None, int], Page],
    keep: Callable[[Item], bool],
    *,
    cursor: str | None,
    limit: int,
) -> tuple[list[Item], str | None]:
    """Up to ``limit`` items that ``keep`` keeps, partition after partition, and the cursor to go on from."""
    at, inner = _position(partitions, cursor)
    found: list[Item] = []
    for _ in range(_ROUNDS):
        if at >= len(partitions):
            return found, None
        page = fetch(partitions[at], inner, limit - len(found))
        found += [item for item in page.items if keep(item)]
        inner = page.cursor
        if inner is None:
            at += 1
        if len(found) >= limit:
            break
    return found, encode_cursor([partitions[at], inner or ""]) if at < len(partitions) else None


def _position(partitions: Sequence[str], cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    partition, inner = decode_cursor(cursor, (str, str))
    if partition not in partitions:
        fault = Fault("cursor", "", "not one of this listing", "the cursor of the page before, with the same query")
        raise InvalidRequestError("the cursor is not valid", [fault])
    return partitions.index(partition), inner or None
