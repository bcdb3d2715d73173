"""The schema of the database of verdicts, version by version; docs/reference/output-schema.md says what it means."""

from __future__ import annotations

__all__ = ["MIGRATIONS"]

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
    """
    CREATE TABLE verdict_head (
        run INTEGER PRIMARY KEY REFERENCES attribution_run (id) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        cluster TEXT NOT NULL,
        job_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        user TEXT NOT NULL,
        sub_domain TEXT NOT NULL,
        outcome TEXT NOT NULL,
        rule TEXT NOT NULL,
        head TEXT NOT NULL,
        UNIQUE (cluster, job_id, attempt)
    ) STRICT;
    CREATE INDEX verdict_head_by_time ON verdict_head (at, sub_domain, cluster);
    CREATE INDEX verdict_head_by_cluster ON verdict_head (cluster, at, sub_domain);
    CREATE INDEX verdict_head_by_sub_domain ON verdict_head (sub_domain, at, cluster);
    CREATE INDEX verdict_head_by_outcome ON verdict_head (outcome, at, sub_domain, cluster);
    CREATE INDEX verdict_head_by_user ON verdict_head (user, at, sub_domain, cluster);
    CREATE INDEX verdict_head_by_rule ON verdict_head (rule, at, sub_domain, cluster);
    CREATE TABLE verdict_node (
        node TEXT NOT NULL,
        run INTEGER NOT NULL REFERENCES verdict_head (run) ON DELETE CASCADE,
        PRIMARY KEY (node, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX verdict_node_by_run ON verdict_node (run);
    CREATE TABLE verdict_rule (
        rule TEXT NOT NULL,
        run INTEGER NOT NULL REFERENCES verdict_head (run) ON DELETE CASCADE,
        PRIMARY KEY (rule, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX verdict_rule_by_run ON verdict_rule (run);
    CREATE VIRTUAL TABLE verdict_text USING fts5 (text, tokenize = 'trigram');
    CREATE TABLE feedback (
        feedback_id TEXT PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES attribution_run (id) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX feedback_by_run ON feedback (run)
    """,
)
"""Each takes the schema from the version of its index to the next; never changed once released, only added to."""
