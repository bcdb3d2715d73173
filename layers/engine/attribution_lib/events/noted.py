"""What a store remembers of the keys in a table that outgrew memory, so that folding it need not read them again."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from attribution_lib.events.fold import key_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attribution_lib.events.compaction import Limits
    from attribution_lib.events.event import Event
    from attribution_lib.events.fold import FoldKey

__all__ = ["NotedKeys"]

_PLACES = 1 << 16


class NotedKeys:
    """Of every row that was written to a table, while it was empty or later, the digest of its key.

    All answers err on one side: what they rule out is not in the table, so that folding need not look for it.
    """

    def __init__(self) -> None:
        self.digests = array("Q")
        """Of the key of the row with id n at n; 0, or nothing, where it is not known."""
        self._seen: set[int] | None = set()
        """Every digest ever noted; None while nothing is written, to be made of ``digests`` again."""
        self._forgot = False
        """Whether some digest was noted that ``digests`` does not have any more."""
        self._rules: dict[str, array[int]] = {}
        """The digests of each rule's keys, but for those that will not be kept."""
        self._overflowing: set[str] = set()
        self._full: set[str] = set()
        """Rules that had more keys than they may."""
        self._places = array("L", bytes(array("L").itemsize * _PLACES))
        """Rows by a hash of rule, node and rank: as many as on any one place, or more."""
        self.crowd = 0
        """No node and rank has more rows of one rule."""
        self.repeated = False
        """Whether two rows may have one key."""
        self._twice = False
        """Whether two rows ever had one: the digests of a rule's keys may hold it twice."""

    def note(self, first: int, rows: Iterable[tuple[FoldKey, Event]], known: Mapping[FoldKey, int]) -> None:
        """Rows were written, with ids from ``first`` on; ``known`` holds digests of some of their keys."""
        self.forget(first)
        digests, places, crowd = self.digests, self._places, self.crowd
        seen = self._seen = set(digests) if self._seen is None else self._seen
        digests.extend([0] * (first - len(digests)))
        before = len(seen)
        rule, note = "", digests.append
        for key, event in rows:
            digest = known.get(key) or key_digest(key)
            digests.append(digest)
            if event.rule != rule:
                rule = event.rule
                note = self._rules.setdefault(rule, array("Q")).append
            note(digest)
            place = hash((rule, key[3], key[4])) % _PLACES
            places[place] = there = places[place] + 1
            crowd = max(crowd, there)
            if event.overflow:
                self._overflowing.add(rule)
        self.crowd = crowd
        seen.update(digests[first:])  # and the 0 of unknown ones, which no digest is
        if len(seen) - before < len(digests) - first:
            self.repeated = self._twice = True

    def bounds(self, keys_per_place: int, keys_per_rule: int) -> dict[str, int]:
        """{rule: the greatest digest of a key that it may still keep}, of rules that have all the keys they may.

        None while some place may have more keys than it may: those that it will not keep do not count.
        """
        if self.crowd > keys_per_place:
            return {}
        full = {rule: digests for rule, digests in self._rules.items() if len(digests) > keys_per_rule}
        found: dict[str, int] = {}
        for rule, digests in full.items():
            rising = sorted(digests)  # what was kept before has its order: only what came since costs more than a look
            if self._twice:
                rising = list(dict.fromkeys(rising))
            kept = array("Q", rising[:keys_per_rule])
            if len(kept) == keys_per_rule:
                found[rule] = kept[-1]
            self._full.add(rule)
            self._rules[rule] = kept
        return found

    def forget(self, first: int) -> None:
        """Rows that were noted with ids from ``first`` on are gone: the ids are given again, maybe to known keys."""
        self._forgot = self._forgot or len(self.digests) > first
        del self.digests[first:]

    def rest(self) -> None:
        """Nothing is written for a while: hold the less. Half a million digests as a set are 33 MiB, in a row 4."""
        if not self._forgot:
            self._seen = None

    def note_overflow(self, rule: str) -> None:
        """Some row of a rule may count occurrences that have no row."""
        self._overflowing.add(rule)

    def folded_within(self, limits: Limits) -> bool:
        """Whether each key surely has one row, and nothing has more keys than it may."""
        if self.repeated or self.crowd > limits.keys_per_place:
            return False
        return not self.many(limits.keys_per_rule)

    def many(self, limit: int) -> set[str]:
        """The rules that may have more keys, or occurrences that a cap put out."""
        return self._overflowing | self._full | {rule for rule, keys in self._rules.items() if len(keys) > limit}
