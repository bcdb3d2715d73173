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


class _Quota:
    """The keys of one rule, or of one rule on one node and rank: at most ``limit``, the smallest by digest stay."""

    __slots__ = ("count", "heap", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.heap: list[tuple[int, FoldKey]] | None = None
        """(minus digest, key), filled when the limit is first reached; evicted keys are dropped when they surface."""


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
        self._rules: dict[str, _Quota] = {}
        self._places: dict[tuple[str, str | None, int | None], _Quota] = {}
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
                row = self._rows[min(keys, key=key_digest)]
                row.overflow = count
                self._marked.append(row)

    def _insert(self, key: FoldKey, event: Event) -> None:
        rule = self._rules.get(event.rule)
        if rule is None:
            rule = self._rules[event.rule] = _Quota(self._keys_per_rule)
        place_key = (event.rule, event.node, event.rank)
        place = self._places.get(place_key)
        if place is None:
            place = self._places[place_key] = _Quota(self._keys_per_place)
        self._rows[key] = event
        place.count += 1
        rule.count += 1
        if place.heap is None and rule.heap is None and place.count <= place.limit and rule.count <= rule.limit:
            return
        self._bound(key, event, place, rule)

    def _bound(self, key: FoldKey, event: Event, place: _Quota, rule: _Quota) -> None:
        """Note a key in the heaps that exist, and put out the greatest while a limit is exceeded."""
        entry = (-key_digest(key), key)
        for quota in (place, rule):
            if quota.heap is not None:
                heappush(quota.heap, entry)
                if len(quota.heap) > 2 * quota.limit + 16:
                    quota.heap = [held for held in quota.heap if held[1] in self._rows]
                    heapify(quota.heap)
        if place.count > place.limit:
            if place.heap is None:
                place.heap = self._heap(event, same_place=True)
            self._evict(place.heap)
        if rule.count > rule.limit:
            if rule.heap is None:
                rule.heap = self._heap(event, same_place=False)
            self._evict(rule.heap)

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
            self._rules[row.rule].count -= 1
            place_key = (row.rule, row.node, row.rank)
            place = self._places[place_key]
            place.count -= 1
            if place.count == 0:
                del self._places[place_key]
            return
