"""Sinks: a database that grows by a run, and signed events to an address."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.connectors.output.sqlite import SqliteSettings, SqliteSink
from attribution_blueprint.connectors.output.webhook import WebhookSettings, WebhookSink, public_address, signature
from attribution_blueprint.errors import OutputError, WebError
from attribution_blueprint.local import attribute_evidence
from http_kit import ENGINE, ROOT
from scripted_server import Answer, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_service.result import EnrichedVerdict


@pytest.fixture(scope="module")
def verdict() -> EnrichedVerdict:
    found = attribute_evidence(read_case_folder(ROOT / "samples" / "cases" / "xid79-gpu-at-95c"), ENGINE())
    return found.model_copy(update={"run_id": "run-1", "attributed_at": "2026-06-02T20:00:00Z"})


def sink_of(path: Path) -> SqliteSink:
    return SqliteSink("db", SqliteSettings(path=str(path)))


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def write_run(path: Path, verdict: EnrichedVerdict, run: str) -> None:
    sink = sink_of(path)
    sink.write(verdict.model_copy(update={"run_id": run}))
    sink.close()


def write_many(sink: SqliteSink, verdict: EnrichedVerdict) -> None:
    for number in range(50):
        sink.write(verdict.model_copy(update={"run_id": f"more-{number}"}))


def test_each_run_of_a_context_is_a_row_and_a_repeat_is_none(verdict: EnrichedVerdict, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "v.db"
    for run in ("run-1", "run-2", "run-2"):
        write_run(path, verdict, run)
    assert rows(path, "SELECT version FROM schema_version") == [(1,), (2,)]
    assert rows(path, "SELECT cluster, job_id, attempt, nodes FROM execution_context") == [("c1", "kern-12", 0, 1)]
    found = rows(path, "SELECT run_id, sub_domain, root_node, bad_nodes FROM attribution_run ORDER BY id")
    assert found == [(run, "hardware", "node-0001", '["node-0001"]') for run in ("run-1", "run-2")]
    whole = json.loads(rows(path, "SELECT verdict FROM attribution_run")[0][0])
    assert whole == verdict.model_dump(mode="json", by_alias=True)


def test_processes_write_to_one_database_at_once(verdict: EnrichedVerdict, tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_run, args=(path, verdict, f"run-{number}")) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 6
    assert rows(path, "SELECT count(*) FROM attribution_run") == [(6,)]


def test_a_database_of_a_later_version_is_left_alone(verdict: EnrichedVerdict, tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    write_run(path, verdict, "run-1")
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO schema_version VALUES (99, '')")
    connection.commit()
    connection.close()
    with pytest.raises(OutputError, match="schema version 99"):
        write_run(path, verdict, "run-2")


def test_a_file_that_is_no_database_is_refused(verdict: EnrichedVerdict, tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    path.write_text("these are my notes, do not overwrite them " * 50)
    with pytest.raises(OutputError, match="not a database"):
        write_run(path, verdict, "run-1")


def test_a_full_disk_is_told_and_what_was_written_stays(verdict: EnrichedVerdict, tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    write_run(path, verdict, "run-1")
    sink = sink_of(path)
    sink.write(verdict.model_copy(update={"run_id": "run-2"}))
    database = sink._database
    assert database is not None
    pages = database.connection.execute("PRAGMA page_count").fetchone()[0]
    database.connection.execute(f"PRAGMA max_page_count = {pages}")  # what SQLite does when the disk is full
    with pytest.raises(OutputError, match="full"):
        write_many(sink, verdict)
    sink.close()
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "SELECT count(*) FROM attribution_run WHERE run_id LIKE 'run-%'") == [(2,)]


def hook(url: str, **settings: Any) -> WebhookSink:
    given = {"allow_http": True, "allow_private": True, "secret": "s3cret", **settings}
    return WebhookSink("hook", WebhookSettings(url=url, **given))


def test_a_verdict_is_posted_as_a_signed_cloud_event(verdict: EnrichedVerdict) -> None:
    with scripted(Answer(500), Answer(202)) as server:
        hook(server.url + "/in").write(verdict)
        first, second = server.asked
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert second.path == "/in"
    assert second.headers["content-type"].startswith("application/cloudevents+json")
    event = json.loads(second.body)
    assert {name: event[name] for name in ("specversion", "type", "source", "subject", "time")} == {
        "specversion": "1.0",
        "type": "attribution.verdict.v2",
        "source": "/attribution/c1",
        "subject": "kern-12/0",
        "time": "2026-06-02T20:00:00Z",
    }
    assert event["data"]["sub_domain"] == "hardware"
    stamp = int(second.headers["webhook-timestamp"])
    assert second.headers["webhook-signature"] == signature(b"s3cret", event["id"], stamp, second.body)


def test_a_receiver_that_refuses_is_told(verdict: EnrichedVerdict) -> None:
    with scripted(Answer(410, b"gone")) as server, pytest.raises(OutputError, match=r"output hook: .*410 gone"):
        hook(server.url).write(verdict)


def test_private_addresses_are_refused_unless_allowed(verdict: EnrichedVerdict) -> None:
    with scripted(Answer()) as server:
        with pytest.raises(OutputError, match=r"127.0.0.1, which is not public"):
            hook(server.url, allow_private=False).write(verdict)
        assert server.asked == []


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1"])  # noqa: S104 -- no bind
def test_what_is_private(host: str) -> None:
    with pytest.raises(WebError, match="not public"):
        public_address(host, 443)
    assert public_address("1.1.1.1", 443) == "1.1.1.1"


def test_plain_http_is_refused_unless_allowed() -> None:
    with pytest.raises(ValidationError, match=r"https:// address, or allow_http"):
        hook("http://example.com", allow_http=False)
