"""The bytes of a file or a stream that somebody gave as evidence: unpacked, bounded, and nothing waited for in vain."""

from __future__ import annotations

import io
import os
import re
import select
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.parsing.packed import DamagedError, NoZstdError, inflated, packing_of
from attribution_lib.text.no_log import no_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

__all__ = ["MAX_BYTES", "Content", "read_file", "read_stream"]

MAX_BYTES = 1 << 30
"""Of one file, unpacked: it is held in memory."""
_BLOCK = 1 << 20
_PIPE_GRACE_MS = 1_000
"""A writer that was started together with us may come a moment later."""
_TOO_LARGE = "holds more than {0}; expected at most {0} a file: give its end: tail -c {1} FILE | attribution explain -"
_HEAD = 1 << 16
"""Bytes that are looked at to tell what a file is."""
_LOKI_ANSWER = re.compile(rb'\s*\{(?=[^\[]{0,4096}"resultType"\s*:\s*"streams")')
_LOKI_PROBLEM = (
    "is an answer of Loki in one piece; expected a log line per line: logcli query --output=jsonl, or "
    "jq -c '.data.result[] | .stream as $s | .values[] | {labels: $s, timestamp: .[0], line: .[1]}' FILE"
)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


@dataclass(frozen=True, slots=True)
class Content:
    """What was read, and why that is not all of it (empty when it is)."""

    data: bytes
    problem: str = ""


class _UnfitError(Exception):
    """A file that is no evidence; its text says why and what to give instead."""


def read_file(path: str, *, limit: int = MAX_BYTES) -> Content:
    """The content of a file or a named pipe, unpacked when it is gzip, zstd, xz or bzip2 data; never an ``OSError``.

    A pipe is read to its end if somebody writes to it. Of damaged packed data, what could be unpacked is returned.
    """
    return _content(_blocks_of_file(path, limit), limit)


def read_stream(stream: BinaryIO, *, limit: int = MAX_BYTES) -> Content:
    """The same for an open stream, which is read to its end."""
    return _content(iter(lambda: stream.read(_BLOCK), b""), limit)


def _content(blocks: Iterable[bytes], limit: int) -> Content:
    try:
        content = _unpacked(_joined(blocks, limit), limit)
    except OSError as error:
        return Content(b"", f"cannot be read ({error.strerror or error}); expected a readable file")
    except _UnfitError as error:
        return Content(b"", str(error))
    problem = _unfit(content.data)
    return Content(b"", problem) if problem else content


def _unfit(data: bytes) -> str:
    """Why this holds no lines; empty when it may."""
    if _LOKI_ANSWER.match(data[:_HEAD]):
        return _LOKI_PROBLEM
    problem = no_log(data)
    return f"{problem[0]}; expected {problem[1]}" if problem else ""


def _blocks_of_file(path: str, limit: int) -> Iterator[bytes]:
    """Opened without waiting for a pipe's other end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        kind = next((name for is_kind, name in _KINDS if is_kind(about.st_mode)), "")
        if kind:
            msg = f"is {kind}; expected a file, or - for standard input"
            raise _UnfitError(msg)
        if about.st_size > limit:
            raise _UnfitError(_too_large(limit))
        if stat.S_ISFIFO(about.st_mode):
            yield _first_of_pipe(handle)
        while block := os.read(handle, _BLOCK):
            yield block
    finally:
        os.close(handle)


def _first_of_pipe(handle: int) -> bytes:
    """The first bytes of a pipe, which from then on waits for more."""
    arrival = select.poll()
    arrival.register(handle, select.POLLIN)
    arrival.poll(_PIPE_GRACE_MS)
    try:
        first = os.read(handle, _BLOCK)
    except BlockingIOError:  # somebody writes, and has not yet
        os.set_blocking(handle, True)
        first = os.read(handle, _BLOCK)
    if not first:
        msg = "is a pipe that nobody writes to; expected a file, or a pipe with something in it"
        raise _UnfitError(msg)
    os.set_blocking(handle, True)
    return first


def _joined(blocks: Iterable[bytes], limit: int) -> bytes:
    buffer = io.BytesIO()
    for block in blocks:
        if buffer.tell() + len(block) > limit:
            raise _UnfitError(_too_large(limit))
        buffer.write(block)
    return buffer.getvalue()


def _too_large(limit: int) -> str:
    gib = limit >> 30
    return _TOO_LARGE.format(f"{gib} GiB", f"{gib}G") if gib else _TOO_LARGE.format(f"{limit} bytes", limit)


def _unpacked(data: bytes, limit: int) -> Content:
    kind = packing_of(data[:6])
    if not kind:
        return Content(data)
    inside = io.BytesIO()
    try:
        for block in inflated([data], kind):
            if inside.tell() + len(block) > limit:
                raise _UnfitError(_too_large(limit))
            inside.write(block)
    except NoZstdError as error:
        raise _UnfitError(str(error)) from error
    except DamagedError as error:
        problem = f"damaged or cut off ({error}); what could be unpacked was read"
        return Content(inside.getvalue(), problem)
    return Content(inside.getvalue())
