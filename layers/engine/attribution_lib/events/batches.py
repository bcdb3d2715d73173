"""The rows of ``observation_contexts``: one a delivered batch of evidence."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from attribution_lib.events.lookups import Lookups
    from attribution_lib.observation import Observation

__all__ = ["ObservationRow", "digest_of_batch", "read_batches", "write_batch"]

_READ = """
SELECT o.observation_id, s.name, f.name, o.stream, o.start, o."end", o.digest, o.lines, o.bytes, o.truncated_lines,
       o.redacted
FROM observation_contexts o JOIN obs_sources s ON s.id = o.source JOIN obs_formats f ON f.id = o.format
ORDER BY o.observation_id, s.name
"""
_DIGEST = "SELECT digest FROM observation_contexts WHERE observation_id = ? AND format IS NOT NULL"
_WRITE = """
UPDATE observation_contexts SET format = ?, stream = ?, start = ?, "end" = ?, digest = ?, lines = ?, bytes = ?,
    truncated_lines = ?, redacted = ?
WHERE id = ? AND format IS NULL
"""


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """One noted batch; ``start`` and ``end`` are µs UTC."""

    observation_id: str
    source: str
    format: str
    stream: str = ""
    start: int | None = None
    end: int | None = None
    digest: str = ""
    lines: int = 0
    bytes: int = 0
    truncated_lines: int = 0
    redacted: int = 0

    @classmethod
    def of(
        cls, observation: Observation, *, lines: int, size: int, truncated_lines: int = 0, redacted: int = 0
    ) -> ObservationRow:
        """The batch that this observation is, ``size`` in bytes of text."""
        return cls(
            observation_id=observation.observation_id,
            source=observation.source.value,
            format=observation.format.value,
            stream=observation.stream,
            start=observation.start,
            end=observation.end,
            digest=observation.digest,
            lines=lines,
            bytes=size,
            truncated_lines=truncated_lines,
            redacted=redacted,
        )

    def values(self) -> tuple[str | int | None, ...]:
        """The fields in their order."""
        return tuple([getattr(self, name) for name in _FIELDS])


_FIELDS = tuple(field.name for field in fields(ObservationRow))


def read_batches(connection: sqlite3.Connection) -> list[ObservationRow]:
    """All noted batches, by id."""
    return [ObservationRow(*row) for row in connection.execute(_READ)]


def digest_of_batch(connection: sqlite3.Connection, observation_id: str) -> str | None:
    """The digest of a batch noted under this id; None when there is none."""
    found = connection.execute(_DIGEST, (observation_id,)).fetchone()
    return None if found is None else str(found[0])


def write_batch(connection: sqlite3.Connection, lookups: Lookups, row: ObservationRow) -> bool:
    """Note a batch; False when its id was noted before."""
    key = lookups.observation_of(row.observation_id, row.source)
    values = (
        lookups.id_of("obs_formats", row.format),
        row.stream,
        row.start,
        row.end,
        row.digest,
        row.lines,
        row.bytes,
        row.truncated_lines,
        row.redacted,
        key,
    )
    return connection.execute(_WRITE, values).rowcount == 1
