"""Log entries to columns: whole columns are checked at once, single entries only to say which one is wrong."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec.json import Encoder

from attribution_lib.fields import is_identifier
from attribution_lib.observation import LogEntries
from attribution_lib.text.stamps import entry_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_lib.fields import FieldChecker
    from attribution_lib.parsing.limits import Limits

__all__ = ["canonical_entries", "columns_of", "columns_of_types", "read_entries"]

_KEYS = ("line", "node", "rank", "ts")
"""Sorted, as the canonical form wants them."""
_ENCODER = Encoder()  # immutable and free of state between calls
_MAX_RANK = 2_000_000
_PIECE = 2_000
_STAMP_EXPECTED = "RFC 3339 with an offset, or epoch nanoseconds as a string"
_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
_STAMP = (
    rf"[12]\d{{3}}-{_MONTH_DAY}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
)
_PLAIN_STAMPS = re.compile(rf"(?:(?:{_STAMP}|1\d{{18}})\n)*+", re.ASCII)
"""A column of stamps that need no closer look; the rest (29 February, other nanosecond counts) is read one by one."""


def read_entries(entries: Sequence[Any], check: FieldChecker, limits: Limits) -> LogEntries:
    """The columns of log entries, ``{"line", "ts"?, "node"?, "rank"?}`` or bare strings; faults go to ``check``."""
    if len(entries) > limits.entries:
        check.fault("entry_timeseries", f"{len(entries)} entries", f"at most {limits.entries}")
        return LogEntries()
    kinds = set(map(type, entries))
    if kinds <= {str}:
        return LogEntries(lines=entries)
    columns = columns_of(_by_key(entries, kinds))
    if columns is None:
        _blame(entries, check)
        return LogEntries()
    return columns


def _by_key(entries: Sequence[Any], kinds: set[type]) -> dict[str, Sequence[Any]] | None:
    """The values of each key, None where an entry lacks it; None when some entry is neither object nor string."""
    if kinds == {dict} and len(set(map(len, entries))) == 1:
        with suppress(KeyError):  # all have the keys of the first, as programs write them
            return {key: list(map(itemgetter(key), entries)) for key in entries[0]}
    if not kinds <= {dict, str}:
        return None
    objects = [{"line": entry} if type(entry) is str else entry for entry in entries]
    return {key: [entry.get(key) for entry in objects] for key in set(chain.from_iterable(objects))}


def columns_of(by_key: dict[str, Sequence[Any]] | None) -> LogEntries | None:
    """The checked columns, or None when anything at all is wrong."""
    if by_key is None or not by_key.keys() <= set(_KEYS):
        return None
    lines, nodes, ranks, stamps = (by_key.get(key, ()) for key in _KEYS)
    texts = set(map(type, lines)) == {str} and _all_text(stamps) and _all_text(nodes)
    if not (texts and set(map(type, ranks)) <= {int, type(None)}):
        return None
    return columns_of_types(by_key, {key: set(column) for key, column in by_key.items() if key != "line"})


def columns_of_types(by_key: dict[str, Sequence[Any]], distinct: dict[str, set[Any]]) -> LogEntries | None:
    """The columns, whose types are right; None when one of their distinct values is wrong."""
    lines, nodes, ranks, stamps = (by_key.get(key, ()) for key in _KEYS)
    none: set[Any] = set()
    right = _ranks_hold(distinct.get("rank", none)) and _nodes_hold(distinct.get("node", none))
    if not (right and _stamps_hold(distinct.get("ts", none))):
        return None
    return LogEntries(lines=lines, stamps=_kept(stamps), nodes=_kept(nodes), ranks=_kept(ranks))


def _ranks_hold(ranks: set[int | None]) -> bool:
    return all(rank is None or 0 <= rank <= _MAX_RANK for rank in ranks)


def _nodes_hold(nodes: set[str | None]) -> bool:
    return all(node is None or is_identifier(node) for node in nodes)


def _all_text(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {str, type(None)}


def _kept(values: Sequence[Any]) -> Sequence[Any]:
    """A column in which no entry has a value is no column."""
    return values if any(value is not None for value in values) else ()


def _stamps_hold(stamps: set[str | None]) -> bool:
    given = [stamp for stamp in stamps if stamp is not None]
    column = "\n".join(given) + "\n" if given else ""
    if column.count("\n") == len(given) and _PLAIN_STAMPS.fullmatch(column):
        return True
    return all(_stamp_problem(stamp) is None for stamp in given)


def _stamp_problem(stamp: str) -> str | None:
    digits = len(stamp) if stamp.isdecimal() else 0
    if digits in _OTHER_UNITS:
        return f"{stamp!r} looks like {_OTHER_UNITS[digits]}"
    try:
        entry_stamp(stamp)
    except ValueError as error:
        return str(error)
    return None


_OTHER_UNITS = {10: "seconds", 13: "milliseconds", 16: "microseconds"}
"""Digits of an epoch number of our time in other units than nanoseconds."""


def _blame(entries: Sequence[Any], check: FieldChecker) -> None:
    """Name every entry that is wrong, until enough are named."""
    for index, entry in enumerate(entries):
        if len(check.faults) >= check.limit:
            return
        address = f"entry_timeseries[{index}]"
        if isinstance(entry, dict):
            _blame_entry(entry, address, check)
        elif not isinstance(entry, str):
            check.wrong_type(address, entry, "a log entry or a string")


def _blame_entry(entry: dict[str, Any], address: str, check: FieldChecker) -> None:
    check.unknown_keys(entry, _KEYS, address)
    line, stamp, node, rank = (entry.get(key) for key in ("line", "ts", "node", "rank"))
    if not isinstance(line, str):
        check.wrong_type(f"{address}.line", line, "a string")
    if stamp is not None and not isinstance(stamp, str):
        check.wrong_type(f"{address}.ts", stamp, _STAMP_EXPECTED)
    elif stamp is not None and (problem := _stamp_problem(stamp)):
        check.fault(f"{address}.ts", problem, _STAMP_EXPECTED)
    if node is not None:
        check.identifier(node, f"{address}.node")
    if rank is not None:
        check.integer(rank, f"{address}.rank", highest=_MAX_RANK)


def canonical_entries(entries: Sequence[Any]) -> Iterator[bytes]:
    """The RFC 8785 form of checked log entries, in pieces that join to it.

    Entries hold no fractions, so only the order of keys can differ from what a plain serialiser writes. Pieces, because
    memory that is used again and again is much cheaper than fresh memory for a second copy of the body.
    """
    for start in range(0, len(entries), _PIECE):
        yield (b"," if start else b"[") + _ENCODER.encode(_ordered(entries[start : start + _PIECE]))[1:-1]
    yield b"]" if entries else b"[]"


def _ordered(entries: Sequence[Any]) -> Sequence[Any]:
    """The entries with their keys in order."""
    if set(map(type, entries)) == {dict}:
        keys = sorted(entries[0])
        if list(entries[0]) == keys:
            if set(map(tuple, entries)) == {tuple(keys)}:
                return entries
        elif set(map(len, entries)) == {len(keys)}:
            with suppress(KeyError):
                return _objects(keys, zip(*(map(itemgetter(key), entries) for key in keys), strict=True))
    return [_sorted(entry) if type(entry) is dict else entry for entry in entries]


def _sorted(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in _KEYS if key in entry}


def _objects(keys: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """One object a row; spelt out because a literal is made in half the time of ``dict(zip(…))``."""
    match keys:
        case (a, b):
            return [{a: one, b: two} for one, two in rows]
        case (a, b, c):
            return [{a: one, b: two, c: three} for one, two, three in rows]
        case (a, b, c, d):
            return [{a: one, b: two, c: three, d: four} for one, two, three, four in rows]
        case _:
            return [dict(zip(keys, row, strict=True)) for row in rows]
