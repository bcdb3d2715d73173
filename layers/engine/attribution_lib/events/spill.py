"""Spills: the events of one batch as gzipped NDJSON, with names in place of lookup ids.

First line: header (schema version, rules digest, columns). Then one array a batch, ``["o", …]``, and one a row,
``["e", …]``, in the order of their text, so that equal content gives equal bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.batches import ObservationRow
from attribution_lib.events.schema import EVENT_COLUMNS, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attribution_lib.events.encoding import Row
    from attribution_lib.events.lookups import Lookups

__all__ = [
    "StoreHeader",
    "encode_named_spill",
    "encode_spill",
    "pack_header",
    "read_spill",
    "read_spill_header",
    "split_header",
]

_LOOKED_UP = {
    EVENT_COLUMNS.index(column): table
    for column, table in (
        ("event_type", "event_types"),
        ("original_type", "event_types"),
        ("source_rule", "rules"),
        ("stream", "streams"),
        ("last_stream", "streams"),
        ("node", "nodes"),
        ("symptom", "symptoms"),
    )
}
_OBSERVATION = EVENT_COLUMNS.index("obs_context_id")


@dataclass(frozen=True, slots=True)
class StoreHeader:
    """What a snapshot or spill says about itself."""

    schema: int
    rules_digest: str


def pack_header(rules_digest: str) -> bytes:
    """The header line, without its line end."""
    return json.dumps({"rules_digest": rules_digest, "schema": SCHEMA_VERSION}, separators=(",", ":")).encode()


def split_header(data: bytes, kind: str) -> tuple[StoreHeader, bytes]:
    """Header and body of a snapshot or spill; ``StoreFormatError`` when it cannot be read."""
    line, _, body = data.partition(b"\n")
    try:
        fields = from_json(line)
        header = StoreHeader(int(fields["schema"]), str(fields["rules_digest"]))
    except (ValueError, TypeError, KeyError) as error:
        msg = f"{kind}: no header in its first line; it is damaged or something else"
        raise StoreFormatError(msg) from error
    if header.schema != SCHEMA_VERSION:
        msg = f"{kind}: schema version {header.schema}; expected {SCHEMA_VERSION}: extract the observations again"
        raise StoreFormatError(msg)
    return header, body


def read_spill_header(data: bytes) -> StoreHeader:
    """The header of a spill, without reading the rest."""
    return split_header(_unpacked(data), "spill")[0]


def encode_spill(rows: Iterable[Row], batches: Iterable[ObservationRow], lookups: Lookups, rules_digest: str) -> bytes:
    """The spill of these rows and batches."""
    return encode_named_spill(_named(rows, lookups), batches, rules_digest)


def encode_named_spill(rows: Iterable[Row], batches: Iterable[ObservationRow], rules_digest: str) -> bytes:
    """The spill of rows that hold names, and (observation id, source), where the table holds ids."""
    lines = [to_json(["o", *batch.values()]) for batch in batches]
    lines += [to_json(["e", *row]) for row in rows]
    lines.sort()
    return gzip.compress(b"\n".join([pack_header(rules_digest), *lines]), compresslevel=1, mtime=0)


def _named(rows: Iterable[Row], lookups: Lookups) -> Iterator[Row]:
    names = {index: lookups.names(table) for index, table in _LOOKED_UP.items()}
    observations = lookups.observations()
    for row in rows:
        values: list[Any] = list(row)
        for index, of_table in names.items():
            if values[index] is not None:
                values[index] = of_table[values[index]]
        values[_OBSERVATION] = observations[values[_OBSERVATION]]
        yield tuple(values)


def read_spill(data: bytes) -> tuple[list[ObservationRow], list[list[Any]]]:
    """Batches and rows of a spill, in the order of ``EVENT_COLUMNS``; ``StoreFormatError`` when it is damaged."""
    _, body = split_header(_unpacked(data), "spill")
    try:
        lines: list[list[Any]] = from_json(b"[" + body.replace(b"\n", b",") + b"]")
        batches = [ObservationRow(*line[1:]) for line in lines if line[0] == "o"]
        rows = [_row(line) for line in lines if line[0] == "e"]
    except (ValueError, TypeError, IndexError) as error:
        msg = "spill: a line is damaged; extract its observation again"
        raise StoreFormatError(msg) from error
    return batches, rows


def _row(line: list[Any]) -> list[Any]:
    if len(line) != len(EVENT_COLUMNS) + 1:
        msg = f"{len(line) - 1} columns"
        raise ValueError(msg)
    return line[1:]


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        msg = "spill: not gzip, or cut off"
        raise StoreFormatError(msg) from error
