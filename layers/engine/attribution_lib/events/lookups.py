"""Names and the ids that stand for them in one event store."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from attribution_lib.events.schema import LOOKUPS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

__all__ = ["Ids", "Lookups", "Same"]


class Ids(dict[str, int]):
    """{name: id} of one lookup table. Asked for a name that is new, it gives it the next id."""

    __slots__ = ("_next", "_table", "_written")

    def __init__(self, table: str, known: Iterable[tuple[str, int]]) -> None:
        super().__init__(known)
        self._table = table
        self._next = max(self.values(), default=0) + 1
        self._written = len(self)
        """How many names the table has: the first ones here, and those after them are new."""

    def __missing__(self, name: str) -> int:
        found = self._next
        self._next = found + 1
        self[str(name)] = found
        return found

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the names that are new: all at once, and sorted as their index is, for a tenth of the cost."""
        if len(self) > self._written:
            rows = sorted(islice(self.items(), self._written, None))
            connection.executemany(f"INSERT INTO {self._table} (name, id) VALUES (?, ?)", rows)  # noqa: S608 -- ours
            self._written = len(self)


class Same(dict[Any, Any]):
    """Stands where a table would: every name is its own id."""

    def __missing__(self, name: Any) -> Any:
        return name


class Lookups:
    """The lookup tables of a connection, held in memory in both directions."""

    def __init__(self, connection: sqlite3.Connection, *, known: Mapping[str, dict[str, int]] | None = None) -> None:
        """``known`` is everything there is, where the caller made the tables itself; else they are read."""
        self._connection = connection
        self.ids: dict[str, Ids] = {}
        self._observations: dict[tuple[str, str], int] = {}
        if known is None:
            self.reload()
        else:
            self.ids = {table: Ids(table, known.get(table, {}).items()) for table in LOOKUPS}

    def move(self, connection: sqlite3.Connection) -> None:
        """Go on with a connection to the same content."""
        self._connection = connection

    def reload(self) -> None:
        """Read everything again: after a snapshot was restored or a transaction rolled back."""
        self.ids = {
            table: Ids(table, self._connection.execute(f"SELECT name, id FROM {table}"))  # noqa: S608 -- our names
            for table in LOOKUPS
        }
        rows = self._connection.execute(
            "SELECT o.id, o.observation_id, s.name FROM observation_contexts o JOIN obs_sources s ON s.id = o.source"
        )
        self._observations = {(observation_id, source): key for key, observation_id, source in rows}

    def write(self) -> None:
        """Write the names that rows were encoded with and that are new."""
        for ids in self.ids.values():
            ids.write(self._connection)

    def id_of(self, table: str, name: str) -> int:
        """The id of a name, which is written at once when it is new."""
        found = self.ids[table][name]
        self.ids[table].write(self._connection)
        return found

    def observation_of(self, observation_id: str, source: str) -> int:
        """The id of a batch's row, which is made when its events come before the batch itself is recorded."""
        found = self._observations.get((observation_id, source))
        if found is None:
            cursor = self._connection.execute(
                "INSERT INTO observation_contexts (observation_id, source) VALUES (?, ?)",
                (observation_id, self.id_of("obs_sources", source)),
            )
            found = self._observations[observation_id, str(source)] = int(cursor.lastrowid or 0)
        return found

    def names(self, table: str) -> dict[int, str]:
        """{id: name} of one lookup table."""
        return {key: name for name, key in self.ids[table].items()}

    def observations(self) -> dict[int, tuple[str, str]]:
        """{id: (observation_id, source)}."""
        return {key: pair for pair, key in self._observations.items()}
