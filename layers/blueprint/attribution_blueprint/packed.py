"""Compressed logs: which kind the first bytes tell of, and a stream of what is inside."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Protocol

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import zstandard

__all__ = ["DAMAGED", "PACKED_SUFFIXES", "Unpacked", "packing_of", "unpacked"]

PACKED_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
DAMAGED = (EOFError, lzma.LZMAError, zlib.error, ValueError)
"""What reading a damaged or cut off file raises, beside ``OSError``."""
_ZSTD_SLICE = 4096
"""A block of 128 KiB of one byte takes four bytes packed: no slice gives more than 128 MiB."""
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}


def packing_of(head: bytes) -> str:
    """``gzip``, ``zstd``, ``xz``, ``bzip2`` or nothing, from the first six bytes of a file."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


class Unpacked(Protocol):
    """What is inside; ``read1`` gives what is at hand, so that of damaged data everything before the damage is had."""

    def read1(self, size: int, /) -> bytes:
        """About ``size`` bytes, at least one unless at the end."""


@contextmanager
def unpacked(file: BinaryIO, kind: str, name: str) -> Iterator[Unpacked]:
    """What is inside ``file``, which stands at its begin; ``CollectError`` naming it when zstd is not installed."""
    if kind == "gzip":
        with gzip.GzipFile(fileobj=file) as inside:
            yield inside
    elif kind == "xz":
        with lzma.LZMAFile(file) as inside_xz:
            yield inside_xz
    elif kind == "bzip2":
        with bz2.BZ2File(file) as inside_bz2:
            yield inside_bz2
    else:
        with _zstd(file, name) as inside_zstd:
            yield inside_zstd


@contextmanager
def _zstd(file: BinaryIO, name: str) -> Iterator[Unpacked]:
    try:
        import zstandard  # noqa: PLC0415 -- an optional extra
    except ModuleNotFoundError as error:
        msg = f"{name}: is compressed with zstd; expected: pip install 'gpu-job-attribution[zstd]'"
        raise CollectError(msg) from error
    try:
        yield _ZstdFrames(file, zstandard.ZstdDecompressor())
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


class _ZstdFrames:
    """The frames of a file one after the other. ``zstandard.stream_reader`` takes a frame that is cut off for whole."""

    def __init__(self, file: BinaryIO, decompressor: zstandard.ZstdDecompressor) -> None:
        self._file = file
        self._decompressor = decompressor
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._packed = b""

    def read1(self, _size: int, /) -> bytes:
        """What one slice holds, whatever its size; ``EOFError`` when a frame has no end."""
        while True:
            self._packed = self._packed or self._file.read(_ZSTD_SLICE)
            if not self._packed:
                if self._frame is not None:
                    msg = "Compressed file ended before the end of a frame was reached"
                    raise EOFError(msg)
                return b""
            frame = self._frame or self._decompressor.decompressobj()
            found = frame.decompress(self._packed)
            self._packed = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
            if found:
                return found
