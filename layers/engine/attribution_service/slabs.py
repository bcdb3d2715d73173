"""Large bodies as streams: unpacked within a bound, cut into slabs of whole lines."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.parsing.packed import DamagedError, NoZstdError, inflated, packing_of
from attribution_lib.text.lines import MAX_SEGMENT
from attribution_lib.text.no_log import no_log
from attribution_service.errors import InvalidRequestError, TooLargeError, UnsupportedMediaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from hashlib import _Hash
    from typing import BinaryIO

__all__ = ["cut_lines", "read_blocks", "require_text", "unpacked"]

_BLOCK = 1 << 20


def read_blocks(stream: BinaryIO, digest: _Hash | None = None) -> Iterator[bytes]:
    """The bytes of a stream in blocks of 1 MiB, counted into ``digest`` as they pass."""
    while block := stream.read(_BLOCK):
        if digest is not None:
            digest.update(block)
        yield block


def unpacked(blocks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The blocks, unpacked when the first bytes say gzip, bzip2, xz or zstd.

    ``TooLargeError`` as soon as more than ``limit`` bytes came out, ``InvalidRequestError`` for data that is damaged or
    cut off, ``UnsupportedMediaError`` where zstd is not installed. A few MiB are held at a
    time (of xz what its header asks for).
    """
    size = 0
    for block in _inflated(blocks):
        size += len(block)
        if size > limit:
            raise TooLargeError("the body is longer unpacked", limit=limit)
        yield block


def _inflated(blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(blocks)
    head = next(rest, b"")
    whole = chain([head], rest)
    kind = packing_of(head)
    if not kind:
        yield from whole
        return
    try:
        yield from inflated(whole, kind)
    except DamagedError as error:
        fault = Fault("body", "", str(error), f"a complete {kind} stream")
        raise InvalidRequestError("the body cannot be unpacked", [fault]) from None
    except NoZstdError:
        accepted = ["gzip", "bzip2", "xz", "identity"]
        raise UnsupportedMediaError("zstd is not installed where this service runs", accepted=accepted) from None


def require_text(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks; ``InvalidRequestError`` when the first says that this is no log."""
    rest = iter(blocks)
    head = next(rest, b"")
    if problem := no_log(head):
        raise InvalidRequestError("the body is no log", [Fault("body", "", *problem)])
    yield from chain([head], rest)


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
