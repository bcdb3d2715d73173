"""What a store remembers of the keys in a table that outgrew memory, so that folding it need not read them again."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from attribution_lib.events.fold import key_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        self._seen: set[int] = set()
        self._rules: Counter[str] = Counter()
        self._overflowing: set[str] = set()
        self._places = array("L", bytes(array("L").itemsize * _PLACES))
        """Rows by a hash of rule, node and rank: as many as on any one place, or more."""
        self.crowd = 0
        """No node and rank has more rows of one rule."""
        self.repeated = False
        """Whether two rows may have one key."""

    def note(self, first: int, rows: Iterable[tuple[FoldKey, Event]]) -> None:
        """Rows were written, with ids from ``first`` on."""
        self.forget(first)
        digests, seen, places = self.digests, self._seen, self._places
        digests.extend([0] * (first - len(digests)))
        for key, event in rows:
            digest = key_digest(key)
            digests.append(digest)
            if digest in seen:
                self.repeated = True
            seen.add(digest)
            place = hash((key[0], key[3], key[4])) % _PLACES
            places[place] += 1
            self.crowd = max(self.crowd, places[place])
            self._rules[event.rule] += 1
            if event.overflow:
                self._overflowing.add(event.rule)

    def forget(self, first: int) -> None:
        """Rows that were noted with ids from ``first`` on are gone: the ids are given again, maybe to known keys."""
        del self.digests[first:]

    def note_overflow(self, rule: str) -> None:
        """Some row of a rule may count occurrences that have no row."""
        self._overflowing.add(rule)

    def many(self, limit: int) -> set[str]:
        """The rules that may have more keys, or occurrences that a cap put out."""
        return self._overflowing | {rule for rule, count in self._rules.items() if count > limit}
