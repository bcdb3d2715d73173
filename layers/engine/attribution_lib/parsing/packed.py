"""Compressed logs: which kind the first bytes tell of, and what is inside, block by block and bounded in memory."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import zstandard

__all__ = ["PACKED_SUFFIXES", "DamagedError", "NoZstdError", "inflated", "packing_of"]

PACKED_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
_BLOCK = 1 << 20
_XZ_MEMORY = 256 << 20
"""``xz -9`` needs 65 MiB; a header may ask for gigabytes."""
_SLICE = 8192
"""What goes in at a time: of damaged data what came out of the slices before is kept."""
_ZSTD_SLICE = 1024
"""A block of 128 KiB of one byte takes four bytes packed: no slice gives more than 32 MiB."""
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}


class DamagedError(Exception):
    """The data is damaged or cut off; every block before that was yielded."""


class NoZstdError(Exception):
    """The data is of zstd, which needs a package that is not installed."""


class _Machine(Protocol):
    """What the standard library's decompressors have in common. ``eof``: one stream is at its end.

    Nothing is given to one that does not need it: then it goes on with what it was given before.
    """

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def packing_of(head: bytes) -> str:
    """``gzip``, ``zstd``, ``xz``, ``bzip2`` or nothing, from the first six bytes of a file."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def inflated(blocks: Iterable[bytes], kind: str) -> Iterator[bytes]:
    """What is inside, whichever streams follow one another; ``DamagedError``, and ``NoZstdError`` before the first."""
    make = _machine_of(kind)
    machine: _Machine | None = None
    for given in _slices(blocks):
        rest = given
        while rest or (machine is not None and not machine.eof and not machine.needs_input):
            if machine is None or machine.eof:
                rest = rest.lstrip(b"\0")  # padding between streams
                if not rest:
                    break
                machine = make()
            try:
                out = machine.decompress(rest, _BLOCK)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                msg = f"damaged {kind} data: {error}"
                raise DamagedError(msg) from None
            rest = machine.unused_data if machine.eof else b""
            if out:
                yield out
    if machine is not None and not machine.eof:
        msg = f"{kind} data is cut off"
        raise DamagedError(msg)


def _slices(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        for at in range(0, len(block), _SLICE):
            yield block[at : at + _SLICE]


def _machine_of(kind: str) -> Callable[[], _Machine]:
    match kind:
        case "gzip":
            return _Gzip
        case "bzip2":
            return bz2.BZ2Decompressor
        case "xz":
            return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        case _:
            return _zstd()


class _Gzip:
    """Keeps what was given and not read yet, as the others do."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._machine.eof

    @property
    def needs_input(self) -> bool:
        return not self._machine.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._machine.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._machine.decompress(data or self._machine.unconsumed_tail, max_length)


def _zstd() -> Callable[[], _Machine]:
    try:
        import zstandard  # noqa: PLC0415 -- an optional extra
    except ModuleNotFoundError as error:
        msg = "is compressed with zstd; expected: pip install 'gpu-job-attribution[zstd]'"
        raise NoZstdError(msg) from error
    return lambda: _Zstd(zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)


class _Zstd:
    """One frame. The library bounds no output, so a slice of the input goes in at a time."""

    def __init__(self, frame: zstandard.ZstdDecompressionObj, error: type[Exception]) -> None:
        self._frame = frame
        self._error = error
        self._waiting = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + bytes(self._waiting)

    def decompress(self, data: bytes, _max_length: int, /) -> bytes:
        given = memoryview(data) if data else self._waiting
        self._waiting = given[_ZSTD_SLICE:]
        try:
            return self._frame.decompress(given[:_ZSTD_SLICE])
        except self._error as error:
            raise ValueError(str(error)) from error
