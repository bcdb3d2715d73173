"""Verdicts from the database that the ``sqlite`` sink writes: every filter, free text, and counts of everything."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from attribution_lib.taxonomy import SubDomain
from attribution_service.errors import NotFoundError, StoreError
from attribution_service.model import Feedback, VerdictHead
from attribution_service.paging import page_limit
from attribution_service.result import EnrichedVerdict
from attribution_service.service import EVERYTHING, Caller
from attribution_service.settings import ServiceLimits
from attribution_service.stores.cursors import decode_cursor, encode_cursor
from attribution_service.times import rfc3339, seconds_of
from attribution_service.verdict_items import head_of
from attribution_service.verdicts import check_feedback, feedback_on
from dashboard.reading import Bucket, Buckets, Capabilities, FleetRow, HeadPage, HitCounts, RuleHits, RunsQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_service.model import FeedbackRequest, VerdictKey
    from attribution_service.verdict_database import VerdictDatabase
    from dashboard.reading import FeedbackQuery, FleetQuery

__all__ = ["SqliteReader"]

_HOUR = 3_600
_GRAM = 3
"""Letters of a word that the index can look up; shorter ones are searched for row by row."""
_SHOWN_NODES = 20
_SHOWN_EVIDENCE = 300
_ROWS_AT_ONCE = 5_000

Part = tuple[str, list[Any]]
"""A condition and the values of its places."""


@dataclass(frozen=True, slots=True)
class SqliteReader:
    """A read port over an open database; calls of several threads wait for one another."""

    database: VerdictDatabase
    clock: Callable[[], float]
    name: str = "SQLite"
    caller: Caller = EVERYTHING
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    lock: Lock = field(default_factory=Lock, repr=False)
    common: int = 25_000
    """About so many texts with the same words are looked at one by one, newest first, sooner than all are fetched."""

    @property
    def capabilities(self) -> Capabilities:
        """Everything."""
        return Capabilities(name=self.name, user=True, text=True, partitioned=False)

    def clusters(self) -> Sequence[str]:
        """Those with verdicts, sorted."""
        # One step a cluster through the index, instead of one a row.
        found = self._rows(
            "WITH RECURSIVE c(name) AS (SELECT min(cluster) FROM verdict_head UNION ALL "
            "SELECT (SELECT min(cluster) FROM verdict_head WHERE cluster > c.name) FROM c WHERE c.name IS NOT NULL) "
            "SELECT name FROM c WHERE name IS NOT NULL"
        )
        return [name for (name,) in found if self.caller.may(name)]

    def heads(self, query: RunsQuery) -> HeadPage:
        """One page by time."""
        limit = page_limit(query.limit, self.limits)
        where, values = self._where(query, common=self._is_common(query))
        if query.cursor is not None:
            where, values = f"{where} AND (at, run) < (?, ?)", [*values, *decode_cursor(query.cursor, (int, int))]
        rows = self._rows(
            f"SELECT at, run, head FROM verdict_head WHERE {where} ORDER BY at DESC, run DESC LIMIT ?",  # noqa: S608 -- conditions of this file
            [*values, limit + 1],
        )
        more = len(rows) > limit
        heads = [head_of({**json.loads(head), "at": at}) for at, _, head in rows[:limit]]
        return HeadPage(heads, encode_cursor(list(rows[limit - 1][:2])) if more else None)

    def buckets(self, query: RunsQuery) -> Buckets:
        """Counted by the indexes."""
        where, values = self._where(query)
        rows = self._rows(
            f"SELECT at / {_HOUR} AS hour, sub_domain, count(*) FROM verdict_head WHERE {where} GROUP BY 1, 2",  # noqa: S608 -- conditions of this file
            values,
        )
        return Buckets([Bucket(hour * _HOUR, SubDomain(name), count) for hour, name, count in rows])

    def verdict(self, key: VerdictKey) -> EnrichedVerdict:
        """The latest run, or the one asked for."""
        (body,) = self._rows("SELECT verdict FROM attribution_run WHERE id = ?", [self._run(key)[0]])[0]
        return EnrichedVerdict.model_validate_json(body)

    def runs(self, key: VerdictKey) -> Sequence[VerdictHead]:
        """Newest first."""
        return [head for _, head in self._runs(key)]

    def fleet(self, query: FleetQuery) -> Iterator[FleetRow]:
        """By time; read in portions, so that a page is not kept waiting for all of them."""
        where, values = self._where(RunsQuery(cluster=query.cluster, since=query.since, until=query.until))
        decoder = msgspec.json.Decoder(FleetRow)
        after = (-1, -1)
        while True:
            rows = self._rows(
                f"SELECT at, run, head FROM verdict_head WHERE {where} AND (at, run) > (?, ?) ORDER BY at, run LIMIT ?",  # noqa: S608 -- conditions of this file
                [*values, *after, _ROWS_AT_ONCE],
            )
            yield from (decoder.decode(head) for _, _, head in rows)
            if len(rows) < _ROWS_AT_ONCE:
                return
            after = rows[-1][:2]

    def rule_hits(self) -> HitCounts:
        """Over everything."""
        where, values = self._where(RunsQuery())
        decided = dict(self._rows(f"SELECT rule, count(*) FROM verdict_head WHERE {where} GROUP BY rule", values))  # noqa: S608 -- conditions of this file
        source = "verdict_rule" if self.caller.clusters is None else "verdict_rule JOIN verdict_head USING (run)"
        named = "verdict_rule.rule"
        seen = dict(self._rows(f"SELECT {named}, count(*) FROM {source} WHERE {where} GROUP BY {named}", values))  # noqa: S608 -- conditions of this file
        names = (decided.keys() | seen.keys()) - {""}
        return HitCounts({name: RuleHits(decided.get(name, 0), seen.get(name, 0)) for name in names})

    def feedback(self, query: FeedbackQuery) -> Sequence[tuple[Feedback, str | None]]:
        """Newest first."""
        if query.cluster is not None:
            self.caller.require(query.cluster)
        wanted = {
            "c.cluster": query.cluster,
            "c.job_id": query.job_id,
            "c.attempt": query.attempt,
            "r.root_rule": query.rule,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(["1", *(f"{name} = ?" for name in given)])
        allowed, clusters = self._allowed("c.cluster")
        rows = self._rows(
            "SELECT f.body, r.root_rule FROM feedback AS f JOIN attribution_run AS r ON r.id = f.run "  # noqa: S608 -- conditions of this file
            "JOIN execution_context AS c ON c.id = r.execution_context_id "
            f"WHERE {where} AND {allowed} ORDER BY f.at DESC, f.feedback_id DESC LIMIT ?",
            [*given.values(), *clusters, query.limit],
        )
        return [(Feedback.model_validate_json(body), rule) for body, rule in rows]

    def add_feedback(self, key: VerdictKey, request: FeedbackRequest) -> Feedback:
        """Stored beside the run."""
        check_feedback(request, self.limits)
        run, head = self._run(key.model_copy(update={"run_id": request.run_id or key.run_id}))
        feedback = feedback_on(head, request, self.clock())
        row = (feedback.feedback_id, run, int(self.clock()), feedback.model_dump_json())
        with self._database() as database, database.transaction():
            database.connection.execute("INSERT INTO feedback VALUES (?, ?, ?, ?)", row)
        return feedback

    def _run(self, key: VerdictKey) -> tuple[int, VerdictHead]:
        runs = [(run, head) for run, head in self._runs(key) if key.run_id in (None, head.run_id)]
        if not runs:
            msg = "there is no verdict on this job"
            raise NotFoundError(msg, cluster=key.cluster, job_id=key.job_id)
        return runs[0]

    def _runs(self, key: VerdictKey) -> list[tuple[int, VerdictHead]]:
        self.caller.require_found(key.cluster, "verdict on this job")
        rows = self._rows(
            "SELECT r.*, c.cluster, c.job_id, c.attempt, c.job_name, c.user_name, c.nodes, c.started_at, c.ended_at "
            "FROM (SELECT * FROM execution_context WHERE cluster = ? AND job_id = ? AND (attempt = ? OR ? IS NULL) "
            "ORDER BY attempt DESC LIMIT 1) AS c JOIN (SELECT id, execution_context_id AS context, run_id, "
            "attributor_id, attributed_at, terminal_state, sub_domain, outcome, confidence, evidence_status, "
            "root_symptom, root_rule, root_node, substr(root_evidence, 1, ?), bad_nodes, bad_nodes_total, rules_digest "
            "FROM attribution_run) AS r ON r.context = c.id",
            [key.cluster, key.job_id, key.attempt, key.attempt, _SHOWN_EVIDENCE],
        )
        return sorted(map(_run_head, rows), key=lambda run: (run[1].stored_at, run[1].run_id), reverse=True)

    def _is_common(self, query: RunsQuery) -> bool:
        """Whether so many texts hold the words that the newest few are found sooner one by one than among all."""
        phrases = _phrases((query.text or "").split())
        counted = "SELECT count(*) FROM (SELECT rowid FROM verdict_text WHERE text MATCH ? LIMIT ?)"
        return bool(phrases) and bool(self._rows(counted, [phrases, self.common])[0][0] == self.common)

    def _where(self, query: RunsQuery, *, common: bool = False) -> Part:
        """The conditions of a query, the caller's clusters among them; ``ForbiddenError`` for a foreign one."""
        if query.cluster is not None:
            self.caller.require(query.cluster)
        equal = {
            "cluster": query.cluster,
            "user": query.user,
            "rule": query.rule,
            "sub_domain": query.sub_domain and query.sub_domain.value,
            "outcome": query.outcome and query.outcome.value,
        }
        parts: list[Part] = [(f"{name} = ?", [value]) for name, value in equal.items() if value is not None]
        parts += [("at >= ?", [query.since])] if query.since is not None else []
        parts += [("at < ?", [query.until])] if query.until is not None else []
        if query.node is not None:
            parts.append(("run IN (SELECT run FROM verdict_node WHERE node = ?)", [query.node]))
        parts += _texts((query.text or "").split(), common=common)
        parts.append(self._allowed("cluster"))
        return " AND ".join(part for part, _ in parts), [value for _, values in parts for value in values]

    def _allowed(self, column: str) -> Part:
        if self.caller.clusters is None:
            return "1", []
        clusters = sorted(self.caller.clusters)
        return f"{column} IN ({', '.join('?' * len(clusters))})", list(clusters)

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._database() as database:
            return database.connection.execute(query, values).fetchall()

    @contextmanager
    def _database(self) -> Iterator[VerdictDatabase]:
        """The database for one caller at a time; ``StoreError`` for whatever SQLite says."""
        with self.lock:
            try:
                yield self.database
            except sqlite3.Error as error:
                msg = f"{self.name}: {error}"
                raise StoreError(msg) from error


def _phrases(words: Sequence[str]) -> str:
    """The words that the index can look up, as one search; empty when there are none."""
    long = [word.replace("\0", "") for word in words]
    return " AND ".join('"' + word.replace('"', '""') + '"' for word in long if len(word) >= _GRAM)


def _texts(words: Sequence[str], *, common: bool) -> Iterator[Part]:
    """The runs whose text contains every word, whatever its case; ``common``: asked of each run in turn."""
    phrases = _phrases(words)
    if phrases and common:
        yield "EXISTS (SELECT 1 FROM verdict_text WHERE rowid = run AND text MATCH ?)", [phrases]
    elif phrases:
        yield "run IN (SELECT rowid FROM verdict_text WHERE text MATCH ?)", [phrases]
    for word in (word.replace("\0", "") for word in words):
        if len(word) < _GRAM:
            escaped = "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in word)
            yield "run IN (SELECT rowid FROM verdict_text WHERE text LIKE ? ESCAPE '\\')", [f"%{escaped}%"]


def _run_head(row: Sequence[Any]) -> tuple[int, VerdictHead]:
    """The head of a run that listings may not show any more, from its columns."""
    names = (
        "run context run_id attributor_id attributed_at terminal_state sub_domain outcome confidence evidence_status "
        "symptom rule node evidence bad_nodes bad_nodes_total rules_digest cluster job_id attempt job_name user nodes "
        "started_at ended_at"
    )
    found = dict(zip(names.split(), row, strict=True))
    at = seconds_of(found["attributed_at"]) or 0
    run = found.pop("run")
    found.pop("context")
    found |= {"bad_nodes": json.loads(found["bad_nodes"])[:_SHOWN_NODES], "stored_at": rfc3339(at)}
    found |= {name: found[name] or "" for name in ("rule", "evidence")}
    return run, VerdictHead.model_validate(found)
