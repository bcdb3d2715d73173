"""Spills: the events of one batch as gzipped NDJSON, with names in place of lookup ids.

First line: header (schema version, rules digest, columns). Then one array a batch, ``["o", …]``, and one a row,
``["e", …]``, in the order of their text, so that equal content gives equal bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

from msgspec import MsgspecError, Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import astuple
from pydantic_core import from_json, to_json

from attribution_lib.errors import StoreFormatError
from attribution_lib.events.batches import ObservationRow
from attribution_lib.events.event import Clock
from attribution_lib.events.schema import EVENT_COLUMNS, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attribution_lib.events.encoding import Row
    from attribution_lib.events.lookups import Lookups

__all__ = [
    "SpillRow",
    "StoreHeader",
    "encode_named_spill",
    "encode_spill",
    "pack_header",
    "read_spill",
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
_GZIP = 16 + zlib.MAX_WBITS
_SIZE_BYTES = 4
_MOST = 1_032
"""How much longer a text can be than its compressed form."""


@dataclass(frozen=True, slots=True)
class StoreHeader:
    """What a snapshot or spill says about itself."""

    schema: int
    rules_digest: str


class SpillRow(Struct, array_like=True, tag="e", gc=False, forbid_unknown_fields=True):
    """A row with names where the table holds ids; its columns are ``EVENT_COLUMNS``."""

    event_type: str
    original_type: str | None
    source_rule: str
    obs_context_id: tuple[str, str]
    """The observation's id and its source."""
    stream: str
    line_num: int | None
    timestamp: int | None
    clock: Clock
    node: str | None
    rank: int | None
    device: str | None
    symptom: str | None
    payload: str | None
    source_datum: str
    key_fields: str | None
    fold: str | None
    occurrences: int
    first_ts: int | None
    last_ts: int | None
    last_stream: str | None
    last_line: int | None
    times: str | None
    width: int
    samples: str | None
    context: Raw
    """Left as it is: it is longer than all the rest, and few rows need it."""
    overflow: int
    state: str
    changed_by: str | None
    explained_by: str | None
    derived_from: str | None
    node_declared: int

    def values(self) -> Row:
        """The columns in their order; names that many rows share are held once."""
        values = list(astuple(self))
        for column in _NAMES:
            values[column] = intern(values[column])
        for column in _OPTIONAL_NAMES:
            if values[column] is not None:
                values[column] = intern(values[column])
        values[_OBSERVATION] = (intern(self.obs_context_id[0]), intern(self.obs_context_id[1]))
        values[_CONTEXT] = self.context_text()
        return tuple(values)

    def context_text(self) -> str | None:
        """The lines around it as JSON."""
        return _TEXT.decode(self.context)


class _SpillBatch(Struct, array_like=True, tag="o", gc=False, forbid_unknown_fields=True):
    """The fields of an ``ObservationRow``."""

    observation_id: str
    source: str
    format: str
    stream: str
    start: int | None
    end: int | None
    digest: str
    lines: int
    bytes: int
    truncated_lines: int
    redacted: int


_LINES = Decoder(SpillRow | _SpillBatch)
_TEXT: Decoder[str | None] = Decoder(str | None)
_CONTEXT = EVENT_COLUMNS.index("context")
_NAMES = [EVENT_COLUMNS.index(name) for name in ("event_type", "source_rule", "stream")]
_OPTIONAL_NAMES = [EVENT_COLUMNS.index(name) for name in ("node", "device", "symptom")]


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


def read_spill(data: bytes) -> tuple[list[ObservationRow], list[SpillRow]]:
    """Batches and rows of a spill; ``StoreFormatError`` when it is damaged."""
    _, body = split_header(_unpacked(data), "spill")
    try:
        lines = _LINES.decode_lines(body)
    except MsgspecError as error:
        msg = "spill: a line is damaged; extract its observation again"
        raise StoreFormatError(msg) from error
    rows = [line for line in lines if type(line) is SpillRow]
    batches = [ObservationRow(*astuple(line)) for line in lines if type(line) is not SpillRow]
    return batches, rows


def _unpacked(data: bytes) -> bytes:
    """The text of a spill: it says at its end how long that is, and room made at once costs half of room that grows."""
    size = int.from_bytes(data[-_SIZE_BYTES:], "little")
    try:
        return zlib.decompress(data, _GZIP, min(max(size, 1), len(data) * _MOST))
    except (zlib.error, ValueError) as error:
        msg = "spill: not gzip, or cut off"
        raise StoreFormatError(msg) from error
