"""How large an observation may be, and how a compressed body is unpacked within that."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from attribution_lib.errors import Fault, ObservationError, ObservationTooLargeError

__all__ = ["DEFAULT_LIMITS", "Limits", "check_size", "unpack"]

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the v2 API, in bytes and counts. Lines beyond 1 MiB are cut by the engine, not refused here."""

    wire_bytes: int = 4_500_000
    inline_bytes: int = 64 << 20
    upload_bytes: int = 1 << 30
    entries: int = 500_000
    depth: int = 16
    faults: int = 20
    """Faults listed of one observation."""


DEFAULT_LIMITS = Limits()


def check_size(body: bytes, limit: int) -> None:
    """``ObservationTooLargeError`` when a body is longer than ``limit`` bytes."""
    if len(body) > limit:
        raise ObservationTooLargeError(limit, len(body))


def unpack(body: bytes, limit: int = DEFAULT_LIMITS.inline_bytes) -> bytes:
    """The body, gunzipped when its first bytes say gzip; never more than ``limit`` bytes are unpacked."""
    if not body.startswith(_GZIP_MAGIC):
        check_size(body, limit)
        return body
    parts: list[bytes] = []
    size = 0
    rest = body
    while rest:
        machine = zlib.decompressobj(wbits=31)
        while rest and not machine.eof:
            parts.append(_inflate(machine, rest))
            rest = machine.unused_data if machine.eof else machine.unconsumed_tail
            size += len(parts[-1])
            if size > limit:
                raise ObservationTooLargeError(limit)
        if not machine.eof:
            raise ObservationError([Fault("body", "", "gzip data is cut off", "a complete gzip stream")])
    return b"".join(parts)


def _inflate(machine: zlib._Decompress, data: bytes) -> bytes:
    try:
        return machine.decompress(data, _CHUNK)
    except zlib.error as error:
        raise ObservationError([Fault("body", "", f"damaged gzip data: {error}", "a complete gzip stream")]) from error
