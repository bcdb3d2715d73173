"""Names and the ids that stand for them in one event store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.events.schema import LOOKUPS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

__all__ = ["Lookups"]


class Lookups:
    """The lookup tables of a connection, held in memory in both directions; new names are written at once."""

    def __init__(self, connection: sqlite3.Connection, *, known: Mapping[str, dict[str, int]] | None = None) -> None:
        """``known`` is everything there is, where the caller made the tables itself; else they are read."""
        self._connection = connection
        self._ids: dict[str, dict[str, int]] = {table: dict((known or {}).get(table, {})) for table in LOOKUPS}
        self._observations: dict[tuple[str, str], int] = {}
        if known is None:
            self.reload()

    def move(self, connection: sqlite3.Connection) -> None:
        """Go on with a connection to the same content."""
        self._connection = connection

    def reload(self) -> None:
        """Read everything again: after a snapshot was restored or a transaction rolled back."""
        self._ids = {
            table: dict(self._connection.execute(f"SELECT name, id FROM {table}"))  # noqa: S608 -- our table names
            for table in LOOKUPS
        }
        rows = self._connection.execute(
            "SELECT o.id, o.observation_id, s.name FROM observation_contexts o JOIN obs_sources s ON s.id = o.source"
        )
        self._observations = {(observation_id, source): key for key, observation_id, source in rows}

    def id_of(self, table: str, name: str) -> int:
        """The id of a name, which is added when new."""
        ids = self._ids[table]
        found = ids.get(name)
        if found is None:
            cursor = self._connection.execute(f"INSERT INTO {table} (name) VALUES (?)", (str(name),))  # noqa: S608 -- ours
            found = ids[str(name)] = int(cursor.lastrowid or 0)
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
        return {key: name for name, key in self._ids[table].items()}

    def observations(self) -> dict[int, tuple[str, str]]:
        """{id: (observation_id, source)}."""
        return {key: pair for pair, key in self._observations.items()}
