"""Log files as they lie on disks: rotated, compressed, still growing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read_blocks", "with_rotated"]

_BLOCK = 1 << 20
_ROTATED = re.compile(
    r"(?:\.(?P<number>\d{1,4})|[-.](?P<date>\d{4}-?\d\d-?\d\d(?:[-_T]?\d{1,10})?))?(?:\.(?:gz|zst|xz|bz2))?"
)
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}
_MICROS = 1_000_000


def with_rotated(path: Path, start: int | None) -> list[Path]:
    """The file and its rotated predecessors, oldest first; a predecessor last written before ``start`` is left out."""
    ranked: list[tuple[tuple[int, str], Path]] = []
    for other in path.parent.glob(_escaped(path.name) + "*"):
        found = _ROTATED.fullmatch(other.name[len(path.name) :])
        if other == path or found is None or not other.is_file():
            continue
        if start is not None and other.stat().st_mtime * _MICROS < start:
            continue
        ranked.append(((-int(found["number"] or 0), found["date"] or ""), other))
    present = [path] if path.is_file() else []
    return [other for _, other in sorted(ranked)] + present


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def read_blocks(path: Path) -> Iterator[bytes]:
    """The content as of now, unpacked, in blocks of about 1 MiB; what is appended while reading is left out.

    ``CollectError`` when it cannot be read to its end; the blocks before that were yielded.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            kind = _kind(file)
            if not kind:
                yield from _plain(file, size, path)
                return
            with _unpacked(file, kind, path) as unpacked:
                while block := unpacked.read(_BLOCK):
                    yield block
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        raise CollectError(msg) from error
    except (EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
        msg = f"{path}: damaged or cut off ({error}); what could be unpacked was read"
        raise CollectError(msg) from error


def _plain(file: BinaryIO, size: int, path: Path) -> Iterator[bytes]:
    left = size
    while left:
        block = file.read(min(_BLOCK, left))
        if not block:
            msg = f"{path}: became {left} bytes shorter while it was read (rotated by copy?)"
            raise CollectError(msg)
        left -= len(block)
        yield block


def _kind(file: BinaryIO) -> str:
    head = file.read(6)
    file.seek(0)
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


@contextmanager
def _unpacked(file: BinaryIO, kind: str, path: Path) -> Iterator[BinaryIO]:
    if kind == "gzip":
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast("BinaryIO", unpacked)
    elif kind == "xz":
        with lzma.LZMAFile(file) as unpacked_xz:
            yield cast("BinaryIO", unpacked_xz)
    elif kind == "bzip2":
        with bz2.BZ2File(file) as unpacked_bz2:
            yield cast("BinaryIO", unpacked_bz2)
    else:
        with _zstd(file, path) as unpacked_zstd:
            yield unpacked_zstd


@contextmanager
def _zstd(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    try:
        import zstandard  # noqa: PLC0415 -- an optional extra
    except ModuleNotFoundError as error:
        msg = f"{path}: is compressed with zstd; expected: pip install 'gpu-job-attribution[zstd]'"
        raise CollectError(msg) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as unpacked:
            yield unpacked
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
