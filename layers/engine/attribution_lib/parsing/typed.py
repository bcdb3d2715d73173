"""The fast way from a body of log entries to columns: decoded straight into typed entries, without a dict for each.

It takes only what it understands completely and answers None for everything else; the general reader then does the
work again and says what is wrong, so both ways accept the same bodies and give the same columns and digests.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, DecodeError, Struct, UnsetType, ValidationError
from msgspec.json import Decoder, Encoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["TypedEntries", "read_typed_body", "read_typed_lines"]


class _Entry(Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One log entry; fields in the order of the canonical form, absent ones apart from null ones."""

    line: str
    node: str | UnsetType | None = UNSET
    rank: int | UnsetType | None = UNSET
    ts: str | UnsetType | None = UNSET


class _Body(Struct, forbid_unknown_fields=True):
    """A whole body; the fields beside the entries are checked by the header reader."""

    entry_timeseries: list[_Entry]
    observation_id: Any = UNSET
    source: Any = UNSET
    format: Any = UNSET
    stream: Any = UNSET
    first_line: Any = UNSET
    start: Any = UNSET
    end: Any = UNSET
    node: Any = UNSET
    rank: Any = UNSET


_PIECE = 2_000
_HEADER = tuple(name for name in _Body.__struct_fields__ if name != "entry_timeseries")
# Immutable and free of state between calls; a decoder is built from its type once.
_BODY, _LINE, _ENCODER = Decoder(_Body), Decoder(_Entry), Encoder()


@dataclass(frozen=True, slots=True)
class TypedEntries:
    """Entries whose keys and types are right; their values still need checking."""

    entries: Sequence[_Entry]

    def __len__(self) -> int:
        return len(self.entries)

    def by_key(self) -> tuple[dict[str, Sequence[Any]], dict[str, set[Any]]]:
        """One column a key, None where an entry lacks it, and the distinct values of each but the lines'.

        Keys that no entry carries are left out.
        """
        columns: dict[str, Sequence[Any]] = {"line": list(map(attrgetter("line"), self.entries))}
        distinct: dict[str, set[Any]] = {}
        for key in ("node", "rank", "ts"):
            column = list(map(attrgetter(key), self.entries))
            values = set(column)
            if UNSET in values:
                values.discard(UNSET)
                if not values:
                    continue
                values.add(None)
                column = [None if value is UNSET else value for value in column]
            columns[key], distinct[key] = column, values
        return columns, distinct

    def canonical(self) -> Iterator[bytes | bytearray]:
        """The RFC 8785 form of the list, in pieces that join to it; each is overwritten by the next.

        Pieces, because memory that is used again is much cheaper than fresh memory for a second copy of the body.
        """
        piece = bytearray()
        for start in range(0, len(self.entries), _PIECE):
            _ENCODER.encode_into(self.entries[start : start + _PIECE], piece)
            piece[:1] = b"," if start else b"["
            del piece[-1:]
            yield piece
        yield b"]" if self.entries else b"[]"


def read_typed_body(data: bytes) -> tuple[dict[str, Any], TypedEntries] | None:
    """Header fields and entries of a JSON body; None when it holds anything but plain log entries."""
    try:
        body = _BODY.decode(data)
    except (DecodeError, ValidationError, UnicodeDecodeError, RecursionError):
        return None
    fields = {name: value for name in _HEADER if (value := getattr(body, name)) is not UNSET}
    return fields, TypedEntries(body.entry_timeseries)


def read_typed_lines(data: bytes) -> TypedEntries | None:
    """One entry a line; None when a line is anything but a plain log entry."""
    try:
        return TypedEntries(_LINE.decode_lines(data))
    except (DecodeError, ValidationError, UnicodeDecodeError, RecursionError):
        return None
