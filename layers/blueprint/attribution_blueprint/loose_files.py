"""Loose log files, which are the evidence of one job together."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import FileReader, source_of
from attribution_blueprint.evidence_files import read_file, read_stream
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from attribution_blueprint.case_files import Evidence
    from attribution_lib.job.model import JobInfo

__all__ = ["read_loose_files"]

_LINES_FOR_A_HOST = 10_000
"""A system log that has named no host in so many lines names none: it is the kernel's own ring buffer."""
_NODE_NOTE = "its node is the one that its path names: none of its lines names a host"
_HEAD = 1 << 14


def read_loose_files(
    paths: Sequence[str], job: JobInfo, *, source: Source | None, stdin: Callable[[], BinaryIO]
) -> Evidence:
    """Read files (``-`` is standard input) as the evidence of one job; a stream is the path as given.

    A file that is given twice is read once. A system log whose lines name no host is of the one node of the job that
    its path names.
    """
    reader = FileReader(job)
    seen: set[object] = set()
    for given in paths:
        identity = _identity(given)
        if identity in seen:
            reader.complaints.append(f"{given}: given twice; read once")
            continue
        seen.add(identity)
        address = "standard input" if given == "-" else given or "''"
        content = read_stream(stdin()) if given == "-" else read_file(given)
        kind = source or (Source.APPLOG if given == "-" else source_of(given, content.data))
        node = _node_of_file(given, content.data, job.nodes) if kind is Source.SYSLOG else None
        note = _NODE_NOTE if node else ""
        reader.take(content, kind, stream=given, address=address, node=node, note=note)
    return reader.evidence()


def _identity(path: str) -> object:
    try:
        about = Path(path).stat()
    except OSError:
        return path
    return path if path == "-" else (about.st_dev, about.st_ino)


def _node_of_file(path: str, data: bytes, nodes: Sequence[str]) -> str | None:
    """The node of the job that the file's name, else its folder's, holds as a whole, if the lines leave it open."""
    named = _only_named(Path(path).name, nodes) or _only_named(Path(path).parent.name, nodes)
    return None if named is None or any(map(_names_a_host, islice(_lines(data), _LINES_FOR_A_HOST))) else named


def _only_named(name: str, nodes: Iterable[str]) -> str | None:
    """``gpu-01`` of ``dmesg-gpu-01.txt`` and ``gpu-01-20260601.log``, but not of ``dmesg-gpu-01-2`` or ``xgpu-01``."""
    name = name.lower()
    found = [
        node
        for node in nodes
        if node.lower() in name
        and re.search(rf"(?<![a-z0-9]){re.escape(node.lower())}(?![a-z0-9]|-\d{{1,5}}(?!\d))", name)
        and not node.isdigit()
    ]
    return found[0] if len(found) == 1 else None


def _names_a_host(line: str) -> bool:
    from attribution_lib.text.prefixes import parse_prefix  # noqa: PLC0415 -- help need not load the engine

    return parse_prefix(line, Source.SYSLOG).node is not None


def _lines(data: bytes) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield data[start : min(end, start + _HEAD)].decode("utf-8", "replace")
        start = end + 1
