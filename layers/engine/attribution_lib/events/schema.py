"""The tables of one job's event store: lookups that hold each name once, and ``events``, the one table that grows."""

from __future__ import annotations

__all__ = ["EVENT_COLUMNS", "LOOKUPS", "SCHEMA", "SCHEMA_VERSION"]

SCHEMA_VERSION = 2
"""Of snapshots and spills; one that differs is not read."""

LOOKUPS = ("contexts", "event_types", "rules", "symptoms", "nodes", "streams", "obs_sources", "obs_formats")
"""Tables ``(id, name)``."""

EVENT_COLUMNS = (
    "event_type",
    "original_type",
    "source_rule",
    "obs_context_id",
    "stream",
    "line_num",
    "timestamp",
    "clock",
    "node",
    "rank",
    "device",
    "symptom",
    "payload",
    "source_datum",
    "key_fields",
    "fold",
    "occurrences",
    "first_ts",
    "last_ts",
    "last_stream",
    "last_line",
    "times",
    "width",
    "samples",
    "context",
    "overflow",
    "state",
    "changed_by",
    "explained_by",
    "derived_from",
    "node_declared",
)
"""Columns of ``events`` besides ``id``, ``context_id`` and ``resources``, in the order in which rows are coded."""

_LOOKUP_TABLES = "\n".join(
    f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);" for name in LOOKUPS
)

SCHEMA = f"""
{_LOOKUP_TABLES}
CREATE TABLE observation_contexts (
    id INTEGER PRIMARY KEY,
    observation_id TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES obs_sources (id),
    format INTEGER REFERENCES obs_formats (id),  -- null: its events are here, the batch itself is not recorded
    stream TEXT NOT NULL DEFAULT '',
    start INTEGER,
    "end" INTEGER,
    digest TEXT NOT NULL DEFAULT '',
    lines INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    truncated_lines INTEGER NOT NULL DEFAULT 0,
    redacted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (observation_id, source)
);
CREATE TABLE store (rules_digest TEXT NOT NULL, folded_rows INTEGER NOT NULL);  -- one row
CREATE TABLE spills (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL DEFAULT 1 REFERENCES contexts (id),
    event_type INTEGER NOT NULL REFERENCES event_types (id),
    original_type INTEGER REFERENCES event_types (id),
    source_rule INTEGER NOT NULL REFERENCES rules (id),
    obs_context_id INTEGER NOT NULL REFERENCES observation_contexts (id),
    stream INTEGER NOT NULL REFERENCES streams (id),
    line_num INTEGER,
    timestamp INTEGER,                           -- µs on ``clock``
    clock TEXT NOT NULL,
    node INTEGER REFERENCES nodes (id),
    rank INTEGER,
    device TEXT,
    resources INTEGER GENERATED ALWAYS AS (node) VIRTUAL,
    symptom INTEGER REFERENCES symptoms (id),
    payload TEXT,                                -- JSON object; null when empty
    source_datum TEXT NOT NULL,
    key_fields TEXT,                             -- JSON array; null when empty
    fold TEXT,
    occurrences INTEGER NOT NULL,
    first_ts INTEGER,
    last_ts INTEGER,
    last_stream INTEGER REFERENCES streams (id),  -- null: the last occurrence is the first
    last_line INTEGER,
    times TEXT,                                  -- JSON [[bucket, count, count, …], …]; null: all in the first's minute
    width INTEGER NOT NULL,
    samples TEXT,                                -- JSON array, or the digest of the one sample that the row itself is
    context TEXT,                                -- JSON [before, after]
    overflow INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    changed_by TEXT,
    explained_by TEXT,                           -- JSON [symptom, source, node]
    derived_from TEXT,
    node_declared INTEGER NOT NULL
);
CREATE VIEW event_rows AS                        -- for people: names in place of ids, payload with node and symptom
SELECT e.id, c.name AS context, t.name AS event_type, ot.name AS original_type, r.name AS source_rule,
       s.name AS source, o.observation_id, m.name AS stream, e.line_num, e.timestamp, e.clock, n.name AS node, e.rank,
       e.device, n.name AS resources, y.name AS symptom,
       json_set(coalesce(e.payload, '{{}}'), '$.node', n.name, '$.symptom', y.name) AS payload, e.source_datum,
       e.occurrences, e.first_ts, e.last_ts, e.overflow, e.state, e.changed_by, e.explained_by, e.derived_from
FROM events e
JOIN contexts c ON c.id = e.context_id
JOIN event_types t ON t.id = e.event_type
LEFT JOIN event_types ot ON ot.id = e.original_type
JOIN rules r ON r.id = e.source_rule
JOIN streams m ON m.id = e.stream
JOIN observation_contexts o ON o.id = e.obs_context_id
JOIN obs_sources s ON s.id = o.source
LEFT JOIN nodes n ON n.id = e.node
LEFT JOIN symptoms y ON y.id = e.symptom;
PRAGMA user_version = {SCHEMA_VERSION};
"""  # noqa: S608 -- made of this module's own table names
