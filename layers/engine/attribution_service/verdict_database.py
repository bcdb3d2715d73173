"""Enriched verdicts in one SQLite file: what a run on one machine writes and the dashboard reads.

Tables: ``schema_version``, ``execution_context`` (one row an attempt of a job), ``attribution_run`` (one row each time
it was attributed, newest last). The whole verdict is kept as JSON; the columns beside it are for queries.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.times import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_service.result import EnrichedVerdict

__all__ = ["MIGRATIONS", "DatabaseVersionError", "VerdictDatabase"]

_BUSY_SECONDS = 30.0

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE execution_context (
        id INTEGER PRIMARY KEY,
        cluster TEXT NOT NULL,
        job_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        scheduler TEXT NOT NULL,
        job_name TEXT NOT NULL,
        user_name TEXT NOT NULL,
        partition TEXT NOT NULL,
        state TEXT NOT NULL,
        exit_code TEXT NOT NULL,
        nodes INTEGER NOT NULL,
        started_at TEXT,
        ended_at TEXT,
        UNIQUE (cluster, job_id, attempt)
    ) STRICT;
    CREATE TABLE attribution_run (
        id INTEGER PRIMARY KEY,
        execution_context_id INTEGER NOT NULL REFERENCES execution_context (id) ON DELETE CASCADE,
        run_id TEXT NOT NULL,
        attributor_id TEXT NOT NULL,
        attributed_at TEXT NOT NULL,
        terminal_state TEXT NOT NULL,
        sub_domain TEXT NOT NULL,
        outcome TEXT NOT NULL,
        confidence TEXT NOT NULL,
        evidence_status TEXT NOT NULL,
        root_symptom TEXT,
        root_rule TEXT,
        root_node TEXT,
        root_evidence TEXT,
        bad_nodes TEXT NOT NULL,
        bad_nodes_total INTEGER NOT NULL,
        engine_version TEXT NOT NULL,
        rules_digest TEXT NOT NULL,
        verdict TEXT NOT NULL,
        UNIQUE (execution_context_id, run_id)
    ) STRICT;
    CREATE INDEX attribution_run_by_time ON attribution_run (attributed_at);
    CREATE INDEX attribution_run_by_sub_domain ON attribution_run (sub_domain, attributed_at);
    CREATE INDEX execution_context_by_job ON execution_context (job_id);
    """,
)
"""Each takes the schema from the version of its index to the next; never changed once released, only added to."""

_CONTEXT_COLUMNS = (
    "cluster",
    "job_id",
    "attempt",
    "scheduler",
    "job_name",
    "user_name",
    "partition",
    "state",
    "exit_code",
    "nodes",
    "started_at",
    "ended_at",
)
_IDENTITY = ("cluster", "job_id", "attempt")


class DatabaseVersionError(Exception):
    """The file is of a later version than this program, or no database of verdicts."""


@dataclass(slots=True)
class VerdictDatabase:
    """An open database. One thread at a time; any number of processes."""

    connection: sqlite3.Connection

    @classmethod
    def open(cls, path: Path) -> VerdictDatabase:
        """Open, make or migrate a file; ``DatabaseVersionError``, ``sqlite3.Error``."""
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            database = cls(connection)
            database._migrate()
        except BaseException:
            connection.close()
            raise
        return database

    def append(self, verdict: EnrichedVerdict) -> None:
        """Store one run; the same run of the same context again replaces itself."""
        with self._transaction():
            context = self._context(verdict)
            row = _run_row(verdict)
            names = ", ".join(row)
            marks = ", ".join("?" * len(row))
            self.connection.execute(
                f"INSERT OR REPLACE INTO attribution_run (execution_context_id, {names}) VALUES (?, {marks})",  # noqa: S608 -- column names of this file
                (context, *row.values()),
            )

    def close(self) -> None:
        """Release the file."""
        self.connection.close()

    def _context(self, verdict: EnrichedVerdict) -> int:
        """The row of the job's attempt, made or brought up to date."""
        values = _context_row(verdict)
        late = ", ".join(f"{name} = excluded.{name}" for name in _CONTEXT_COLUMNS if name not in _IDENTITY)
        found = self.connection.execute(
            f"INSERT INTO execution_context ({', '.join(_CONTEXT_COLUMNS)}) "  # noqa: S608 -- column names of this file
            f"VALUES ({', '.join('?' * len(_CONTEXT_COLUMNS))}) "
            f"ON CONFLICT ({', '.join(_IDENTITY)}) DO UPDATE SET {late} RETURNING id",
            values,
        ).fetchone()
        return int(found[0])

    def _migrate(self) -> None:
        with self._transaction():
            self.connection.execute(
                "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)"
            )
            with closing(self.connection.execute("SELECT max(version) FROM schema_version")) as found:
                version = int(found.fetchone()[0] or 0)
            if version > len(MIGRATIONS):
                msg = f"schema version {version}; this program knows {len(MIGRATIONS)}: use a newer one"
                raise DatabaseVersionError(msg)
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    self.connection.execute(statement)
                self.connection.execute("INSERT INTO schema_version VALUES (?, datetime('now'))", (number,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK") if self.connection.in_transaction else None
            raise
        self.connection.execute("COMMIT")


def _context_row(verdict: EnrichedVerdict) -> tuple[str | int | None, ...]:
    job = verdict.job
    return (
        str(job["cluster"]),
        str(job["job_id"]),
        int(job["attempt"]),
        str(job.get("scheduler", "")),
        str(job.get("name", "")),
        str(job.get("user", "")),
        str(job.get("partition", "")),
        str(job.get("state", "")),
        str(job.get("exit_code", "")),
        len(job.get("nodes", ())),
        job.get("start"),
        job.get("end"),
    )


def _run_row(verdict: EnrichedVerdict) -> dict[str, str | int | None]:
    root = verdict.root_cause
    return {
        "run_id": verdict.run_id,
        "attributor_id": verdict.attributor_id,
        "attributed_at": verdict.attributed_at or rfc3339(0),
        "terminal_state": verdict.terminal_state.value,
        "sub_domain": verdict.sub_domain.value,
        "outcome": verdict.outcome.value,
        "confidence": verdict.confidence.value,
        "evidence_status": verdict.evidence_status.value,
        "root_symptom": root.symptom if root is not None else None,
        "root_rule": root.rule if root is not None else None,
        "root_node": root.node if root is not None else None,
        "root_evidence": root.evidence if root is not None else None,
        "bad_nodes": json.dumps([node.node for node in verdict.bad_nodes]),
        "bad_nodes_total": verdict.bad_nodes_total,
        "engine_version": verdict.engine.version,
        "rules_digest": verdict.engine.rules_digest,
        "verdict": verdict.model_dump_json(by_alias=True),
    }
