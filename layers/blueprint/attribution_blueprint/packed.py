"""Compressed logs: which kind the first bytes tell of, and a stream of what is inside."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DAMAGED", "PACKED_SUFFIXES", "packing_of", "unpacked"]

PACKED_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
DAMAGED = (EOFError, lzma.LZMAError, zlib.error, ValueError)
"""What reading a damaged or cut off file raises, beside ``OSError``."""
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}


def packing_of(head: bytes) -> str:
    """``gzip``, ``zstd``, ``xz``, ``bzip2`` or nothing, from the first six bytes of a file."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


@contextmanager
def unpacked(file: BinaryIO, kind: str, name: str) -> Iterator[BinaryIO]:
    """What is inside ``file``, which stands at its begin; ``CollectError`` naming it when zstd is not installed."""
    if kind == "gzip":
        with gzip.GzipFile(fileobj=file) as inside:
            yield cast("BinaryIO", inside)
    elif kind == "xz":
        with lzma.LZMAFile(file) as inside_xz:
            yield cast("BinaryIO", inside_xz)
    elif kind == "bzip2":
        with bz2.BZ2File(file) as inside_bz2:
            yield cast("BinaryIO", inside_bz2)
    else:
        with _zstd(file, name) as inside_zstd:
            yield inside_zstd


@contextmanager
def _zstd(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    try:
        import zstandard  # noqa: PLC0415 -- an optional extra
    except ModuleNotFoundError as error:
        msg = f"{name}: is compressed with zstd; expected: pip install 'gpu-job-attribution[zstd]'"
        raise CollectError(msg) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as inside:
            yield inside
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
