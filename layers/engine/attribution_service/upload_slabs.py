"""The slabs of an uploaded object as observations: text as it is, JSON one entry a line, metrics one series a line.

Metrics may also be one JSON array; that cannot be cut and is held to the size of an inline body.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import ObservationError
from attribution_lib.observation import ObservationFormat
from attribution_lib.observation_parse import parse_upload
from attribution_lib.parsing.limits import DEFAULT_LIMITS
from attribution_service.deliver import refusals
from attribution_service.errors import TooLargeError
from attribution_service.kept import text_slabs
from attribution_service.slabs import cut_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.observation import Observation
    from attribution_lib.parsing.header import Header
    from attribution_service.commit import Identity
    from attribution_service.settings import ServiceLimits

__all__ = ["upload_slabs"]

_UNCOUNTED = replace(DEFAULT_LIMITS, entries=1 << 40)
"""What is uploaded is bounded by its size."""


def upload_slabs(
    fields: Mapping[str, Any], header: Header, identity: Identity, blocks: Iterator[bytes], limits: ServiceLimits
) -> Iterator[Observation]:
    """The observation's slabs, all with its id and digest; ``InvalidRequestError`` where a line is no entry."""
    fields = {**fields, "observation_id": identity.observation_id}
    match header.format:
        case ObservationFormat.TEXT:
            empty = _parsed(fields, b"", identity, "the object")
            yield from text_slabs(empty, cut_lines(blocks, limits.slab_bytes))
        case ObservationFormat.JSON:
            yield from _entries(fields, identity, cut_lines(blocks, limits.slab_bytes), header.first_line)
        case ObservationFormat.PROMETHEUS_MATRIX:
            head = next(blocks, b"")
            blocks = chain([head], blocks)
            if head.lstrip()[:1] == b"{":
                yield from _series(fields, identity, cut_lines(blocks, limits.slab_bytes))
            else:
                yield _parsed(fields, _whole(blocks, limits.observation.inline_bytes), identity, "the object")


def _entries(
    fields: Mapping[str, Any], identity: Identity, slabs: Iterator[bytes], first_line: int
) -> Iterator[Observation]:
    line = 1
    for slab in chain([next(slabs, b"")], slabs):
        found = _parsed({**fields, "first_line": first_line}, slab, identity, f"the part that begins at line {line}")
        yield found
        first_line += len(found.entries.lines)
        line += slab.count(b"\n")


def _series(fields: Mapping[str, Any], identity: Identity, slabs: Iterator[bytes]) -> Iterator[Observation]:
    line = 1
    for slab in slabs:
        array = b"[" + b",".join(text for text in slab.splitlines() if text.strip()) + b"]"
        yield _parsed(fields, array, identity, f"the part that begins at line {line}")
        line += slab.count(b"\n")


def _parsed(fields: Mapping[str, Any], slab: bytes, identity: Identity, part: str) -> Observation:
    with refusals():
        try:
            return replace(parse_upload(fields, slab, limits=_UNCOUNTED), digest=identity.digest)
        except ObservationError as error:
            raise type(error)([replace(fault, address=f"{part}: {fault.address}") for fault in error.faults]) from None


def _whole(blocks: Iterator[bytes], limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        size += len(block)
        if size > limit:
            raise TooLargeError("metrics come as one JSON array, and not one series a line", limit=limit)
        parts.append(block)
    return b"".join(parts)
