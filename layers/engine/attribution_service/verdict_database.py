"""Enriched verdicts in one SQLite file: what a run on one machine writes and the dashboard reads.

Tables: ``schema_version``, ``execution_context`` (one row an attempt of a job), ``attribution_run`` (one row each time
it was attributed). The whole verdict is kept as JSON; the columns beside it are for queries. ``verdict_head`` and what
hangs on it is narrow and holds the latest run of each attempt only: what listings, counts and searches read.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.result import EnrichedVerdict
from attribution_service.times import rfc3339, seconds_of
from attribution_service.verdict_items import RunItem
from attribution_service.verdict_migrations import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from attribution_service.ports import Item

__all__ = ["DatabaseVersionError", "VerdictDatabase"]

_BUSY_SECONDS = 30.0
_HEADS_SINCE = 2
"""The version that brought ``verdict_head``."""

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
            _refuse_foreign(connection)
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
        self.append_all([verdict])

    def append_all(self, verdicts: Iterable[EnrichedVerdict]) -> None:
        """Store many runs in one transaction: all of them or, where one cannot be stored, none."""
        with self.transaction():
            for verdict in verdicts:
                self._store(verdict)

    def failures_of(self, cluster: str, nodes: Sequence[str], since: int) -> dict[str, int]:
        """{node: attempts whose latest verdict since then (seconds) blames it}, of every node that was asked about."""
        counts = dict.fromkeys(nodes, 0)
        query = (
            "SELECT count(*) FROM verdict_node JOIN verdict_head USING (run) WHERE node = ? AND cluster = ? AND at >= ?"
        )
        for node in counts:
            counts[node] = int(self.connection.execute(query, (node, cluster, since)).fetchone()[0])
        return counts

    def close(self) -> None:
        """Release the file."""
        self.connection.close()

    def _store(self, verdict: EnrichedVerdict) -> None:
        context = self._context(verdict)
        row = {"execution_context_id": context, **_run_row(verdict)}
        late = ", ".join(f"{name} = excluded.{name}" for name in row)
        found = self.connection.execute(
            f"INSERT INTO attribution_run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) "  # noqa: S608 -- column names of this file
            f"ON CONFLICT (execution_context_id, run_id) DO UPDATE SET {late} RETURNING id",
            list(row.values()),
        ).fetchone()
        runs = self.connection.execute(
            "SELECT id, attributed_at, run_id FROM attribution_run WHERE execution_context_id = ?", (context,)
        ).fetchall()
        latest = max(runs, key=lambda run: (seconds_of(run[1]) or 0, run[2]))
        if latest[0] == found[0]:
            self._put_head(int(found[0]), verdict)

    def _put_head(self, run: int, verdict: EnrichedVerdict) -> None:
        """Make this run the one that listings show of its attempt."""
        item = RunItem.of(verdict)
        key = (item.cluster, item.job_id, item.attempt)
        execute = self.connection.execute
        where = "WHERE cluster = ? AND job_id = ? AND attempt = ?"
        for (old,) in execute(f"SELECT run FROM verdict_head {where}", key).fetchall():  # noqa: S608 -- text of this file
            execute("DELETE FROM verdict_head WHERE run = ?", (old,))
            execute("DELETE FROM verdict_text WHERE rowid = ?", (old,))
        head = item.head()
        columns = [item.at, *key, head["user"], head["sub_domain"], head["outcome"], head["rule"], json.dumps(head)]
        execute("INSERT INTO verdict_head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (run, *columns))
        nodes = {node.node for node in verdict.bad_nodes}
        self.connection.executemany("INSERT INTO verdict_node VALUES (?, ?)", [(node, run) for node in sorted(nodes)])
        self.connection.executemany("INSERT INTO verdict_rule VALUES (?, ?)", [(rule, run) for rule in head["rules"]])
        execute("INSERT INTO verdict_text (rowid, text) VALUES (?, ?)", (run, _searched(head)))

    def _context(self, verdict: EnrichedVerdict) -> int:
        """The row of the job's attempt, made or brought up to date; an earlier run that comes late knows less."""
        values = _context_row(verdict)
        later = self.connection.execute(
            "SELECT context.id FROM execution_context AS context JOIN attribution_run AS run "
            "ON run.execution_context_id = context.id "
            "WHERE (cluster, job_id, attempt) = (?, ?, ?) AND run.attributed_at > ? AND run.run_id <> ? LIMIT 1",
            (*values[: len(_IDENTITY)], _attributed_at(verdict), verdict.run_id),
        ).fetchone()
        if later is not None:
            return int(later[0])
        late = ", ".join(f"{name} = excluded.{name}" for name in _CONTEXT_COLUMNS if name not in _IDENTITY)
        found = self.connection.execute(
            f"INSERT INTO execution_context ({', '.join(_CONTEXT_COLUMNS)}) "  # noqa: S608 -- column names of this file
            f"VALUES ({', '.join('?' * len(_CONTEXT_COLUMNS))}) "
            f"ON CONFLICT ({', '.join(_IDENTITY)}) DO UPDATE SET {late} RETURNING id",
            values,
        ).fetchone()
        return int(found[0])

    def _migrate(self) -> None:
        with self.transaction():
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
                if number == _HEADS_SINCE:
                    self._fill_heads()
                self.connection.execute("INSERT INTO schema_version VALUES (?, datetime('now'))", (number,))

    def _fill_heads(self) -> None:
        """Heads of what an older program stored."""
        rows = self.connection.execute("SELECT id, execution_context_id, attributed_at, run_id FROM attribution_run")
        latest: dict[int, tuple[int, str, int]] = {}
        for run, context, at, run_id in rows:
            latest[context] = max(latest.get(context, (-1, "", 0)), (seconds_of(at) or 0, run_id, run))
        for _, _, run in latest.values():
            (body,) = self.connection.execute("SELECT verdict FROM attribution_run WHERE id = ?", (run,)).fetchone()
            self._put_head(run, EnrichedVerdict.model_validate_json(body))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is stored, or nothing."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK") if self.connection.in_transaction else None
            raise
        self.connection.execute("COMMIT")


def _searched(head: Item) -> str:
    """What free text is looked for in."""
    names = ("job_id", "job_name", "user", "symptom", "node", "device", "evidence")
    return "\n".join([*(str(head[name] or "") for name in names), *head["bad_nodes"]])


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


def _attributed_at(verdict: EnrichedVerdict) -> str:
    return verdict.attributed_at or rfc3339(0)


def _run_row(verdict: EnrichedVerdict) -> dict[str, str | int | None]:
    root = verdict.root_cause
    return {
        "run_id": verdict.run_id,
        "attributor_id": verdict.attributor_id,
        "attributed_at": _attributed_at(verdict),
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


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    """``DatabaseVersionError`` for another program's database, which stays as it is; an empty one may become ours."""
    with closing(connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")) as found:
        tables = {name for (name,) in found}
    if tables and "attribution_run" not in tables:
        msg = f"holds another program's tables ({', '.join(sorted(tables)[:3])}) and no verdicts"
        raise DatabaseVersionError(msg)
