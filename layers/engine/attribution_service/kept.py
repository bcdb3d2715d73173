"""Masked bodies as they are kept for another extraction, gzipped: a header line, then text or a JSON line a slab."""

from __future__ import annotations

import gzip
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from pydantic_core import from_json, to_json

from attribution_lib.observation import LogEntries, MetricSeries, Observation, ObservationFormat, Source
from attribution_service.errors import StoreError
from attribution_service.slabs import cut_lines, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KeptWriter", "read_kept", "text_slabs"]

_SCHEMA = 1
_HEADER = ("observation_id", "stream", "first_line", "start", "end", "node", "rank", "digest")


class KeptWriter:
    """Writes one observation's slabs to ``file``; ``close`` ends the compressed stream and leaves the file open."""

    def __init__(self, file: BinaryIO, header: Observation) -> None:
        self._packed = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0, filename="")
        fields = {name: getattr(header, name) for name in _HEADER}
        fields |= {"schema": _SCHEMA, "source": header.source.value, "format": header.format.value}
        self._packed.write(to_json(fields) + b"\n")

    def add(self, slab: Observation) -> None:
        """Append one slab."""
        match slab.format:
            case ObservationFormat.TEXT:
                self._packed.write(slab.text)
            case ObservationFormat.JSON:
                columns = slab.entries
                row = [columns.lines, columns.stamps, columns.nodes, columns.ranks]
                self._packed.write(to_json([list(column) for column in row]) + b"\n")
            case ObservationFormat.PROMETHEUS_MATRIX:
                rows = [[dict(series.labels), list(series.samples)] for series in slab.series]
                self._packed.write(to_json(rows, inf_nan_mode="strings") + b"\n")

    def close(self) -> None:
        """Finish the stream."""
        self._packed.close()


def read_kept(stream: BinaryIO, slab_bytes: int) -> Iterator[Observation]:
    """The slabs of an observation that ``KeptWriter`` wrote; ``StoreError`` when it is in no known form."""
    with gzip.open(stream, "rb") as packed:
        fields = from_json(packed.readline())
        if fields.pop("schema", None) != _SCHEMA:
            raise StoreError("a kept observation is in a form that this version does not read")
        header = Observation(Source(fields.pop("source")), ObservationFormat(fields.pop("format")), **fields)
        if header.format is ObservationFormat.TEXT:
            yield from text_slabs(header, cut_lines(read_blocks(packed), slab_bytes))  # type: ignore[arg-type]  # a GzipFile reads like one
            return
        first_line = header.first_line
        for line in packed:
            slab = _slab(header, first_line, from_json(line))
            first_line += len(slab.entries.lines)
            yield slab


def text_slabs(header: Observation, slabs: Iterator[bytes]) -> Iterator[Observation]:
    """One observation a slab of text, each with the number of its first line; an empty body is one empty slab."""
    first_line = header.first_line
    head = next(slabs, b"")
    for text in chain([head], slabs):
        yield replace(header, text=text, first_line=first_line)
        first_line += text.count(b"\n")


def _slab(header: Observation, first_line: int, row: list[Any]) -> Observation:
    if header.format is ObservationFormat.JSON:
        return replace(header, first_line=first_line, entries=LogEntries(*row))
    series = [MetricSeries(labels, [(at, float(value)) for at, value in samples]) for labels, samples in row]
    return replace(header, series=series)
