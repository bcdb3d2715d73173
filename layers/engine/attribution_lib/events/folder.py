"""The bounded set of rows that events are folded into, with its caps on the number of keys."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from attribution_lib.events.event import Position, Sample
from attribution_lib.events.fold import (
    MAX_SAMPLES,
    FoldKey,
    bump,
    count_in,
    digest_of_text,
    fold_into,
    fold_key,
    key_digest,
    seed,
)
from attribution_lib.events.series import SERIES_FOLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attribution_lib.events.event import Event

__all__ = ["KEYS_PER_PLACE", "KEYS_PER_RULE", "Folder", "Latest"]

KEYS_PER_PLACE = 2_000
"""Keys that one rule may have on one (node, rank)."""
KEYS_PER_RULE = 200_000
_INFINITY = float("inf")
_Place = tuple[str, str | None, int | None]
"""A rule, a node and a rank."""


class Latest(NamedTuple):
    """One occurrence of a rule that keeps its last, without context lines; see ``Folder.advance``."""

    place: Position
    payload: dict[str, Any]
    datum: str
    observation_id: str
    occurrences: int
    declared: bool


class Folder:
    """Folds events into rows as they come; owns every event given to it.

    Which keys survive the caps depends on the set of all keys alone: a key that is put out never comes back, and
    everything that ever fell under it is counted in its rule's ``overflow``.
    """

    def __init__(
        self,
        *,
        keys_per_place: int = KEYS_PER_PLACE,
        keys_per_rule: int = KEYS_PER_RULE,
        bounds: Mapping[str, int] | None = None,
    ) -> None:
        """``bounds``: {rule: the greatest digest that a new key of it may have}; keys above are counted only."""
        self._rows: dict[FoldKey, Event] = {}
        self._keys_of: dict[_Place | str, int] = {}
        """How many keys a rule has, and a rule on one node and rank."""
        self._heaps: dict[_Place | str, list[tuple[int, FoldKey]]] = {}
        """Of those that ever had more than they may: (minus digest, key); evicted keys go when they surface."""
        self._overflow: dict[str, int] = {}
        self._marked: list[Event] = []
        self._keys_per_place = keys_per_place
        self._keys_per_rule = keys_per_rule
        self._bounds = {} if bounds is None else bounds
        self._admitted: FoldKey | None = None  # the last key found to be within its rule's bound; its event comes next
        self.digests: dict[FoldKey, int] = {}  # of keys that were compared with a bound and are within

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: FoldKey) -> Event | None:
        """The row of a key."""
        return self._rows.get(key)

    def add(self, event: Event, key: FoldKey | None = None) -> int:
        """Fold in a fresh event, or a row of a spill as it is; ``key`` if it is known. Returns the number of rows."""
        if event.overflow:
            self._overflow[event.rule] = self._overflow.get(event.rule, 0) + event.overflow
            event.overflow = 0
        if key is None:
            key = fold_key(event)
        row = self._rows.get(key)
        if row is None:
            if not self._bounds or key is self._admitted or not self._beyond(key, event.occurrences):
                self._insert(key, event)
        elif event.fold == SERIES_FOLD or event.first is not event.last or not self._bump_event(key, event):
            for each in (row, event):
                if not each.samples:
                    seed(each)
            fold_into(row, event)
        return len(self._rows)

    def _beyond(self, key: FoldKey, occurrences: int) -> bool:
        """Whether a new key has no place left in its rule; its occurrences are counted then."""
        rule = str(key[0])
        bound = self._bounds.get(rule)
        if bound is None:
            self._admitted = key
            return False
        digest = key_digest(key)
        if digest <= bound:
            self._admitted = key
            self.digests[key] = digest
            return False
        self._overflow[rule] = self._overflow.get(rule, 0) + occurrences
        return True

    def add_all(self, events: Iterable[Event]) -> None:
        """Fold many events in."""
        for event in events:
            self.add(event)

    def _bump_event(self, key: FoldKey, event: Event) -> bool:
        return self.bump(
            key, event.timestamp, event.stream, event.line_num, event.occurrences, declared=event.node_declared
        )

    def bump(  # noqa: PLR0913 -- the hot path: what an occurrence is, without the event
        self,
        key: FoldKey,
        timestamp: int | None,
        stream: str,
        line_num: int | None,
        occurrences: int = 1,
        *,
        declared: bool = False,
    ) -> bool:
        """Count one more occurrence of a known key without building its event.

        False, and nothing counted, when the event itself is needed: the key is new and within its rule's bound, the
        occurrence would be shown or kept as a sample, or the rule keeps the last or the greatest payload.
        """
        row = self._rows.get(key)
        if row is None:
            return bool(self._bounds) and self._beyond(key, occurrences)
        return bump(row, timestamp, stream, line_num, occurrences, declared=declared)

    def count(  # noqa: PLR0913, PLR0917 -- the hot path: what an occurrence is, without the event
        self,
        key: FoldKey,
        timestamp: int | None,
        stream: str,
        line_num: int | None,
        datum: str,
        occurrences: int = 1,
        *,
        declared: bool = False,
    ) -> bool:
        """``bump``, and where the occurrence is among the first of a known key it is kept as a sample.

        False, and nothing counted, when the event itself is needed: the key is new, the occurrence may be what the row
        shows, or the rule keeps the last or the greatest payload.
        """
        row = self._rows.get(key)
        if row is None:
            return bool(self._bounds) and self._beyond(key, occurrences)
        if bump(row, timestamp, stream, line_num, occurrences, declared=declared):
            return True
        if row.fold:
            return False
        place = (_INFINITY if timestamp is None else timestamp, stream, line_num or 0)
        if place <= Position(row.timestamp, row.stream, row.line_num).order():
            return False
        if not row.samples:
            seed(row)
        samples = row.samples
        sample = Sample(timestamp, stream, line_num, digest_of_text(datum), datum)
        if sample.order() > samples[-1].order():
            if len(samples) < MAX_SAMPLES:
                row.samples = (*samples, sample)
        else:
            row.samples = tuple(sorted({*samples, sample}, key=Sample.order)[:MAX_SAMPLES])
        if place > row.last.order():
            row.last = Position(timestamp, stream, line_num)
        count_in(row, timestamp, occurrences, declared=declared)
        return True

    def advance(self, key: FoldKey, event: Latest) -> bool:
        """Count one more occurrence of a row that keeps its last, and show it if it is later than what is shown.

        False, and nothing done, when the event itself is needed: the row is new, keeps something else, would keep
        this as a sample, or shows something that stands in the very same place.
        """
        row = self._rows.get(key)
        if row is None or row.fold != "last" or len(row.samples) < MAX_SAMPLES:
            return False
        place, last = event.place.order(), row.last.order()
        if place == last or place <= row.samples[-1].order()[:3]:
            return False
        if place > last:
            row.last = event.place
            row.timestamp, row.stream, row.line_num = event.place
            row.payload, row.datum, row.observation_id = event.payload, event.datum, event.observation_id
            row.context_before, row.context_after = (), ()
        count_in(row, event.place.timestamp, event.occurrences, declared=event.declared)
        return True

    def fresh(self) -> dict[FoldKey, Event]:
        """The rows by key; those that are one occurrence have no samples yet."""
        self._place_overflow()
        return self._rows

    def events(self) -> list[Event]:
        """The rows, in no particular order."""
        rows = list(self.fresh().values())
        for row in rows:
            if not row.samples:
                seed(row)
        return rows

    def unplaced_overflow(self) -> dict[str, int]:
        """{rule: occurrences} that were counted and have no row here to say so."""
        rules = {row.rule for row in self._rows.values()} if self._overflow else set()
        return {rule: count for rule, count in self._overflow.items() if rule not in rules}

    def _place_overflow(self) -> None:
        for row in self._marked:
            row.overflow = 0
        self._marked.clear()
        for rule, count in self._overflow.items():
            keys = [key for key in self._rows if key[0] == rule]
            if keys:
                row = self._rows[min(keys, key=self._digest)]
                row.overflow = count
                self._marked.append(row)

    def _digest(self, key: FoldKey) -> int:
        return self.digests.get(key) or key_digest(key)

    def _insert(self, key: FoldKey, event: Event) -> None:
        rule, place = event.rule, (event.rule, event.node, event.rank)
        self._rows[key] = event
        of_rule = self._keys_of[rule] = self._keys_of.get(rule, 0) + 1
        of_place = self._keys_of[place] = self._keys_of.get(place, 0) + 1
        if self._heaps or of_place > self._keys_per_place or of_rule > self._keys_per_rule:
            self._bound(key, event, place)

    def _bound(self, key: FoldKey, event: Event, place: _Place) -> None:
        """Note a key in the heaps that exist, and put out the greatest while a limit is exceeded."""
        limits: dict[_Place | str, int] = {place: self._keys_per_place, event.rule: self._keys_per_rule}
        for owner, limit in limits.items():
            heap = self._heaps.get(owner)
            if heap is None:
                continue
            heappush(heap, (-key_digest(key), key))
            if len(heap) > 2 * limit + 16:
                heap[:] = [held for held in heap if held[1] in self._rows]
                heapify(heap)
        for owner, limit in limits.items():
            if self._keys_of.get(owner, 0) > limit:
                if owner not in self._heaps:
                    self._heaps[owner] = self._heap(event, same_place=owner == place)
                self._evict(self._heaps[owner])

    def _heap(self, event: Event, *, same_place: bool) -> list[tuple[int, FoldKey]]:
        heap = [
            (-key_digest(key), key)
            for key, row in self._rows.items()
            if row.rule == event.rule and (not same_place or (row.node == event.node and row.rank == event.rank))
        ]
        heapify(heap)
        return heap

    def _evict(self, heap: list[tuple[int, FoldKey]]) -> None:
        """Put out the greatest key that is still there and count what it held."""
        while heap:
            row = self._rows.pop(heappop(heap)[1], None)
            if row is None:
                continue
            self._overflow[row.rule] = self._overflow.get(row.rule, 0) + row.occurrences
            place = (row.rule, row.node, row.rank)
            self._keys_of[row.rule] -= 1
            self._keys_of[place] -= 1
            if not self._keys_of[place]:
                del self._keys_of[place]
            return
