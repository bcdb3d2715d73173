"""Folding a table in place: only rows that change are read as events, so that memory does not grow with the table."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress, groupby
from operator import itemgetter, not_, or_
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from attribution_lib.events.codec import Names, read_rows
from attribution_lib.events.encoding import insert_events
from attribution_lib.events.event import Clock
from attribution_lib.events.fold import key_digest, make_key
from attribution_lib.events.folder import KEYS_PER_PLACE, KEYS_PER_RULE, Folder

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from attribution_lib.events.lookups import Lookups
    from attribution_lib.events.noted import NotedKeys

__all__ = ["Limits", "fold_table", "rules_of_newest"]

_BUCKETS = 1 << 16
_SLICE = 10_000
"""Rows that are events at one time."""
_FORGET = "DELETE FROM events WHERE id = ?"
_FORGET_NODES = "DELETE FROM nodes WHERE id NOT IN (SELECT node FROM events WHERE node IS NOT NULL)"
"""Of a million nodes, the names of those whose keys are kept."""
_NODES = 1.5
"""So many names of nodes to a row are worth keeping: to find out which of them no row has costs a walk over all."""
# Months of stamps without a year are left to the folder: rows that look alike here need not be.
_KEYS = """
SELECT e.id, e.overflow, e.source_rule, e.node, e.rank,
       e.event_type, o.source, e.device, e.symptom, e.clock, e.key_fields,
       CASE e.clock WHEN 'utc' THEN NULL ELSE e.stream END
FROM events e JOIN observation_contexts o ON o.id = e.obs_context_id
"""
_ROWS = "SELECT id, occurrences, overflow FROM events WHERE source_rule = ? ORDER BY id"
_PLACED = "SELECT node, rank FROM events WHERE source_rule = ? ORDER BY id"
_NAMED_KEYS = """
SELECT e.id, t.name, s.name, n.name, e.rank, e.device, y.name, e.clock, e.key_fields, m.name, e.timestamp
FROM events e
JOIN event_types t ON t.id = e.event_type
JOIN observation_contexts o ON o.id = e.obs_context_id
JOIN obs_sources s ON s.id = o.source
JOIN streams m ON m.id = e.stream
LEFT JOIN nodes n ON n.id = e.node
LEFT JOIN symptoms y ON y.id = e.symptom
WHERE e.source_rule = ?
"""
_CROWDED = """
SELECT source_rule, node, rank FROM events GROUP BY source_rule, node, rank HAVING count(*) > ?
"""
_NEWEST = "SELECT DISTINCT source_rule FROM (SELECT source_rule FROM events ORDER BY id DESC LIMIT ?)"
Place = tuple[int | None, int | None]
"""The id of a node, and a rank."""
_CLOCKS = {clock.value: clock for clock in Clock}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a store may be in memory, and how many keys it may have."""

    buffered_rows: int = 25_000
    """Events in memory; beyond, they go to the table, and the table to a temporary file."""
    loose_rows: int = 50_000
    """Rows that may lie unfolded in the table before it is folded in place."""
    keys_per_place: int = KEYS_PER_PLACE
    keys_per_rule: int = KEYS_PER_RULE

    def folder(self, bounds: Mapping[str, int]) -> Folder:
        """An empty one that has the same caps; ``bounds`` as ``fold_table`` returns them."""
        return Folder(keys_per_place=self.keys_per_place, keys_per_rule=self.keys_per_rule, bounds=bounds)


@dataclass(slots=True)
class _Census:
    """How many rows there are, counted on the one walk that has to see all of them: never too few."""

    rules: Counter[int] = field(default_factory=Counter)
    overflown: set[int] = field(default_factory=set)
    """Rules of which some keys were put out before."""
    places: array[int] = field(default_factory=lambda: array("I", bytes(4 * _BUCKETS)))
    """Rows by (rule, node, rank), many of these to one number."""

    def count(self, row: tuple[Any, ...]) -> None:
        """Count one of ``_KEYS``."""
        _, overflow, rule, *_ = row
        self.rules[rule] += 1
        self.places[hash(row[2:5]) % _BUCKETS] += 1
        if overflow:
            self.overflown.add(rule)


@dataclass(slots=True)
class _Keys:
    """The rows of one rule, a few bytes each."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    digests: array[int] = field(default_factory=lambda: array("Q"))
    occurrences: array[int] = field(default_factory=lambda: array("q"))
    overflow: dict[int, int] = field(default_factory=dict)
    """Of rows that have any, by id."""
    crowded: dict[Place, list[int]] = field(default_factory=dict)


def fold_table(
    connection: sqlite3.Connection, lookups: Lookups, limits: Limits, noted: NotedKeys | None = None
) -> dict[str, int]:
    """Make the table hold each key once, within the caps; the caller commits.

    Returns, for each rule that had more keys than it may, the greatest digest that it keeps: a key above will never be
    kept. ``noted`` is what is known of all rows, if it is; what it rules out is not looked for.
    """
    if noted is None or noted.repeated:
        census = _fold_repeats(connection, lookups, noted)
        many = {rule for rule, rows in census.rules.items() if rows > limits.keys_per_rule} | census.overflown
        crowd = max(census.places)
    else:
        many = {lookups.id_of("rules", rule) for rule in noted.many(limits.keys_per_rule)}
        crowd = noted.crowd
    crowded: dict[int, set[Place]] = {}
    if crowd > limits.keys_per_place:
        for rule, node, rank in connection.execute(_CROWDED, (limits.keys_per_place,)):
            crowded.setdefault(rule, set()).add((node, rank))
    names = lookups.names("rules")
    bounds: dict[str, int] = {}
    for rule in sorted(many | crowded.keys()):
        name = names[rule]
        keys = _keys_of(connection, rule, name, crowded.get(rule, set()), noted)
        bound = _cap(connection, keys, limits) if keys.ids else None
        if noted is not None:
            noted.note_overflow(name)  # if something was put out
        if bound is not None:
            bounds[name] = bound
    if bounds and len(lookups.ids["nodes"]) > _NODES * connection.execute("SELECT count(*) FROM events").fetchone()[0]:
        connection.execute(_FORGET_NODES)
        lookups.reload()
    return bounds


def rules_of_newest(connection: sqlite3.Connection, lookups: Lookups, rows: int) -> frozenset[str]:
    """The rules of so many rows that were added last."""
    names = lookups.names("rules")
    return frozenset(names[rule] for (rule,) in connection.execute(_NEWEST, (rows,)))


def _fold_repeats(connection: sqlite3.Connection, lookups: Lookups, noted: NotedKeys | None) -> _Census:
    """Fold rows of one key, slice by slice; rows that merely share the hash of theirs come back as they were."""
    census = _Census()
    seen: set[int] = set()
    repeated: set[int] = set()
    for row in connection.execute(_KEYS):
        census.count(row)
        mark = hash(row[2:])
        if mark in seen:
            repeated.add(mark)
        else:
            seen.add(mark)
    del seen
    rows = ((hash(row[2:]), row[0]) for row in (connection.execute(_KEYS) if repeated else ()))
    suspects = sorted(pair for pair in rows if pair[0] in repeated)
    names = Names(lookups)
    for ids in _slices(suspects):
        folder = Folder(keys_per_place=len(ids), keys_per_rule=len(ids))
        folder.add_all(read_rows(connection, names, ids))
        connection.executemany(_FORGET, [(key,) for key in ids])
        first = insert_events(connection, folder.events(), lookups)
        if noted is not None:
            noted.forget(first)
    if noted is not None:
        noted.repeated = False
    return census


def _slices(suspects: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Ids, all of one hash together."""
    ids: list[int] = []
    for _, pairs in groupby(suspects, key=itemgetter(0)):
        ids += [pair[1] for pair in pairs]
        if len(ids) >= _SLICE:
            yield ids
            ids = []
    if ids:
        yield ids


def _cap(connection: sqlite3.Connection, keys: _Keys, limits: Limits) -> int | None:
    """Put out the keys of a rule that are too many and count what they held on its row of the smallest digest."""
    out = bytearray(len(keys.ids))
    for rows in keys.crowded.values():
        for index in sorted(rows, key=keys.digests.__getitem__)[limits.keys_per_place :]:
            out[index] = 1
    kept = sorted(compress(keys.digests, map(not_, out)))
    bound = kept[limits.keys_per_rule - 1] if len(kept) >= limits.keys_per_rule else None
    if bound is not None and len(kept) > limits.keys_per_rule:
        out = bytearray(map(or_, out, map(bound.__lt__, keys.digests)))
    lost = sum(keys.overflow.values()) + sum(compress(keys.occurrences, out))
    connection.executemany(_FORGET, ((key,) for key in compress(keys.ids, out)))
    connection.executemany("UPDATE events SET overflow = 0 WHERE id = ?", ((key,) for key in keys.overflow))
    first = keys.ids[keys.digests.index(kept[0])]
    connection.execute("UPDATE events SET overflow = ? WHERE id = ?", (lost, first))
    return bound if lost else None


def _keys_of(
    connection: sqlite3.Connection, rule: int, name: str, crowded: set[Place], noted: NotedKeys | None
) -> _Keys:
    keys = _Keys()
    known: Sequence[int] = noted.digests if noted is not None else ()
    unknown: dict[int, int] = {}
    cursor = connection.execute(_ROWS, (rule,))
    while rows := cursor.fetchmany(_SLICE):  # column by column: a rule may have a million rows
        first = len(keys.ids)
        numbers, occurrences, overflows = zip(*rows, strict=True)
        digests = [known[number] if number < len(known) else 0 for number in numbers]
        if 0 in digests:
            unknown.update((numbers[index], first + index) for index, digest in enumerate(digests) if not digest)
        if any(overflows):
            keys.overflow.update(pair for pair in zip(numbers, overflows, strict=True) if pair[1])
        keys.ids.extend(numbers)
        keys.digests.extend(digests)
        keys.occurrences.extend(occurrences)
    for index, place in enumerate(connection.execute(_PLACED, (rule,)) if crowded else ()):
        if place in crowded:
            keys.crowded.setdefault(place, []).append(index)
    for number, *named in connection.execute(_NAMED_KEYS, (rule,)) if unknown else ():
        if number in unknown:
            keys.digests[unknown[number]] = _digest_of(name, *named)
    return keys


def _digest_of(rule: str, event_type: str, source: str, *rest: Any) -> int:
    node, rank, device, symptom, clock, fields, stream, timestamp = rest
    given = () if fields is None else tuple(from_json(fields))
    place = (node, rank, device)
    return key_digest(make_key(rule, event_type, source, *place, symptom, _CLOCKS[clock], given, stream, timestamp))
