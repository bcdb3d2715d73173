"""Large bodies as streams: unpacked within a bound, cut into slabs of whole lines."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.text.lines import MAX_SEGMENT
from attribution_service.errors import InvalidRequestError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from hashlib import _Hash
    from typing import BinaryIO

__all__ = ["cut_lines", "read_blocks", "unpacked"]

_BLOCK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def read_blocks(stream: BinaryIO, digest: _Hash | None = None) -> Iterator[bytes]:
    """The bytes of a stream in blocks of 1 MiB, counted into ``digest`` as they pass."""
    while block := stream.read(_BLOCK):
        if digest is not None:
            digest.update(block)
        yield block


def unpacked(blocks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The blocks, gunzipped when the first bytes say gzip.

    ``TooLargeError`` as soon as more than ``limit`` bytes came out, ``InvalidRequestError`` for gzip data that is
    damaged or cut off. At no time is more than a few MiB held.
    """
    size = 0
    for block in _inflated(blocks):
        size += len(block)
        if size > limit:
            raise TooLargeError(f"more than {limit} bytes unpacked", limit=limit)
        yield block


def _inflated(blocks: Iterable[bytes]) -> Iterator[bytes]:
    machine: zlib._Decompress | None = None
    packed: bool | None = None
    for block in blocks:
        if packed is None:
            packed = block.startswith(_GZIP_MAGIC)
        if not packed:
            yield block
            continue
        rest = block
        while rest:
            if machine is None or machine.eof:
                machine = zlib.decompressobj(wbits=31)
            try:
                out = machine.decompress(rest, _BLOCK)
            except zlib.error as error:
                raise _bad_gzip(f"damaged gzip data: {error}") from None
            rest = machine.unused_data if machine.eof else machine.unconsumed_tail
            if out:
                yield out
    if machine is not None and not machine.eof:
        raise _bad_gzip("gzip data is cut off")


def cut_lines(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Slabs of about ``size`` bytes that end with a line end (the last one may not).

    Where a line is longer than that, a carriage return will do (a progress bar's segments share one line number); where
    there is none either, what is beyond the longest segment that the engine reads is dropped up to the next line end.
    """
    pending = bytearray()
    for block in blocks:
        pending += block
        while len(pending) >= size:
            end = max(pending.rfind(b"\n", 0, size), pending.rfind(b"\r", 0, size) if b"\n" not in pending else -1) + 1
            if end == 0:
                end = pending.find(b"\n") + 1
                if end == 0:
                    del pending[MAX_SEGMENT + 1 :]
                    break
            yield bytes(pending[:end])
            del pending[:end]
    if pending:
        yield bytes(pending)


def _bad_gzip(problem: str) -> InvalidRequestError:
    return InvalidRequestError("the body cannot be unpacked", [Fault("body", "", problem, "a complete gzip stream")])
