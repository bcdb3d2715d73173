"""Cuts a buffer into slabs of whole lines, so that memory does not grow with the buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SLAB", "cut_slabs"]

SLAB = 1 << 20
"""Bytes; a longer line is a slab of its own."""


def cut_slabs(data: bytes, size: int = SLAB) -> Iterator[tuple[int, bytes]]:
    """(offset, slab) pairs that together are ``data``; every slab but the last ends with a line feed."""
    start = 0
    while len(data) - start > size:
        end = data.rfind(b"\n", start, start + size) + 1
        if end == 0:
            end = data.find(b"\n", start + size) + 1 or len(data)
        yield start, data[start:end]
        start = end
    if start < len(data):
        yield start, data[start:] if start else data
