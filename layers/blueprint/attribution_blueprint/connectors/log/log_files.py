"""Log files as they lie on disks: rotated, compressed, still growing."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from attribution_blueprint.errors import CollectError
from attribution_lib.parsing.packed import DamagedError, NoZstdError, inflated, packing_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["read_blocks", "with_rotated"]

_BLOCK = 1 << 20
_ROTATED = re.compile(
    r"(?:\.(?P<number>\d{1,4})|[-.](?P<date>\d{4}-?\d\d-?\d\d(?:[-_T]?\d{1,10})?))?(?:\.(?:gz|zst|xz|bz2))?"
)
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
            yield from inflated(iter(lambda: file.read(_BLOCK), b""), kind)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        raise CollectError(msg) from error
    except NoZstdError as error:
        msg = f"{path}: {error}"
        raise CollectError(msg) from error
    except DamagedError as error:
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
    return packing_of(head)
