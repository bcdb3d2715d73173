"""``sqlite``: verdicts in a local database, which the dashboard reads."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.output.base import HISTORY_SECONDS
from attribution_blueprint.errors import OutputError
from attribution_blueprint.setting_types import ComponentSettings, OptionalPath
from attribution_service.verdict_database import DatabaseVersionError, VerdictDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_service.result import EnrichedVerdict

__all__ = ["SqliteSettings", "SqliteSink"]


class SqliteSettings(ComponentSettings):
    """A SQLite database; made when it is not there, migrated when it is old, appended to when it has runs."""

    path: OptionalPath = Field(min_length=1, description="The database file.")


class SqliteSink:
    """One row a run and context; the schema is in docs/reference/output-schema.md."""

    Settings: ClassVar[type[SqliteSettings]] = SqliteSettings

    def __init__(self, name: str, settings: SqliteSettings) -> None:
        self.name = name
        self.settings = settings
        self._lock = threading.Lock()
        self._database: VerdictDatabase | None = None

    def write(self, verdict: EnrichedVerdict) -> None:
        """Append the run, durably."""
        with self._opened() as database:
            database.append(verdict)

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:
        """Of the verdicts in this database."""
        if not nodes:
            return {}
        with self._opened() as database:
            return database.failures_of(cluster, nodes, int(time.time()) - HISTORY_SECONDS)

    @contextmanager
    def _opened(self) -> Iterator[VerdictDatabase]:
        path = Path(self.settings.path).expanduser()
        try:
            with self._lock:
                if self._database is None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._database = VerdictDatabase.open(path)
                yield self._database
        except (sqlite3.Error, OSError, DatabaseVersionError) as error:
            msg = f"output {self.name}: {path}: {error}; expected a SQLite database that can be written"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None
