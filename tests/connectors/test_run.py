"""Whole runs: what is attributed, what is told of what failed, what is left behind (nothing)."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from attribution_blueprint.collecting import Collecting, Source
from attribution_blueprint.context import ExecutionContext
from attribution_blueprint.errors import AttributionFailedError, AttributorConflictError, SubmissionError
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.settings import read_configuration
from attribution_cli.main import main
from attribution_lib.observation import Observation
from attribution_lib.observation import Source as Kind
from attribution_service.client import Client, RefusedError, Transport
from attribution_service.service import EVERYTHING
from attribution_service.verdicts import write_verdict
from http_kit import running
from run_kit import (
    LINE,
    Misbehaving,
    SlowVerdicts,
    configuration_file,
    http_service_of,
    local_service_of,
    open_sessions,
    orchestrate,
    write_jobs,
)
from scripted_server import Answer, scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution

JOB = {"job_id": "1", "cluster": "c", "state": "FAILED", "nodes": ["n1"]}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[InProcessAttribution]:
    with local_service_of(tmp_path) as service:
        yield service


def runs_in(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        query = (
            "SELECT job_id, sub_domain FROM attribution_run JOIN execution_context AS c ON c.id = execution_context_id"
        )
        return sorted(connection.execute(query).fetchall())
    finally:
        connection.close()


def test_every_context_is_attributed_written_and_cleaned_up(local: InProcessAttribution, tmp_path: Path) -> None:
    found = orchestrate(configuration_file(tmp_path, write_jobs(tmp_path, 5)), local)
    assert found.last_run_stats == {
        "discovered": 5,
        "skipped": 0,
        "attempted": 5,
        "attributed": 5,
        "conflicted": 0,
        "failed": 0,
        "succeeded": 5,
        "left_behind": 0,
    }
    assert runs_in(tmp_path / "v.db") == [(str(1000 + number), "application") for number in range(5)]
    assert open_sessions(local) == []
    first = found.last_run_summaries[0]
    assert (first["context"], first["job"], first["attempt"], first["status"]) == ("c:1000:0", "1000", 0, "attributed")
    assert first["sub_domain"] == "application"
    assert first["evidence_status"] == "complete"
    verdict = found.last_run_results[0].verdict
    assert verdict is not None
    assert [(one.instance, one.status, one.lines) for one in verdict.connector_reports] == [("app", "ok", 2)]
    assert [(one.instance, one.delivered, one.failed) for one in verdict.ingestion_reports] == [("app", 1, 0)]
    assert verdict.root_cause is not None
    assert (verdict.root_cause.line_num, verdict.root_cause.evidence) == (2, LINE)


def test_a_session_of_somebody_else_is_left_alone(local: InProcessAttribution, tmp_path: Path) -> None:
    theirs = local.open({**JOB, "job_id": "1001"})
    found = orchestrate(configuration_file(tmp_path, write_jobs(tmp_path, 3)), local)
    assert found.last_run_stats["conflicted"] == 1
    assert found.last_run_stats["succeeded"] == 2
    told = [one for one in found.last_run_summaries if one["status"] == "conflicted"]
    assert told == [
        {
            "context": "c:1001:0",
            "cluster": "c",
            "job": "1001",
            "attempt": 0,
            "status": "conflicted",
            "attributor_id": "c:1001:0",
        }
    ]
    assert open_sessions(local) == [theirs.attributor_id]
    assert not found.failed(strict=False)


def test_conflicts_are_tried_again_when_asked(local: InProcessAttribution, tmp_path: Path) -> None:
    theirs = local.open({**JOB, "job_id": "1000"})
    text = "[run]\nretry_conflicts = 20\nretry_conflicts_seconds = 0.2\n"
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1), text)
    threading.Timer(0.5, lambda: local.delete(theirs)).start()
    assert orchestrate(file, local).last_run_stats["succeeded"] == 1


def test_only_conflicts_is_a_failure(local: InProcessAttribution, tmp_path: Path) -> None:
    local.open({**JOB, "job_id": "1000"})
    assert orchestrate(configuration_file(tmp_path, write_jobs(tmp_path, 1)), local).failed(strict=False)


def collecting(*how: str, seconds: float = 0.3) -> tuple[list[bytes], dict[str, Any]]:
    context = ExecutionContext.of(JOB, adapter="test")
    sources = [Source("test", one, Misbehaving(one), seconds) for one in how]
    work = Collecting(sources, context, threading.Event())
    texts = [observation.text for _, observation in work]
    return texts, {report.instance: report for report in work.reports}


def test_collectors_that_misbehave_cost_only_themselves() -> None:
    started = time.monotonic()
    texts, reports = collecting("hang", "wait", "break", "other source", "fine")
    assert time.monotonic() - started < 5
    assert texts == [b"first batch\n"] * 5
    assert {name: report.status.value for name, report in reports.items()} == {
        "hang": "error",
        "wait": "error",
        "break": "error",
        "other source": "error",
        "fine": "ok",
    }
    assert "hung: no answer within timeout_seconds = 0.3" in str(reports["hang"].reason)
    assert "timeout_seconds is over" in str(reports["wait"].reason)
    assert "KeyError" in str(reports["break"].reason)
    assert "its source is applog" in str(reports["other source"].reason)
    assert all(report.observation_count == 1 for report in reports.values())


def test_missing_evidence_makes_it_partial_and_strict_fails(local: InProcessAttribution, tmp_path: Path) -> None:
    text = '[log.sys.file]\nsource = "syslog"\npaths = ["/no/such/syslog"]\n'
    found = orchestrate(configuration_file(tmp_path, write_jobs(tmp_path, 1), text), local)
    assert found.last_run_summaries[0]["evidence_status"] == "partial"
    assert not found.failed(strict=False)
    assert found.failed(strict=True)


def test_a_sink_that_fails_costs_only_itself(local: InProcessAttribution, tmp_path: Path) -> None:
    text = '[output.broken.sqlite]\npath = "/proc/nowhere/v.db"\n'
    found = orchestrate(configuration_file(tmp_path, write_jobs(tmp_path, 2), text), local)
    assert [one["written"] for one in found.last_run_summaries] == [["db"], ["db"]]
    assert found.last_run_stats["succeeded"] == 2


def test_verdicts_that_no_sink_took_are_a_failure(local: InProcessAttribution, tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1))
    found = orchestrate(file, local, {"NVAB_OUTPUT_DB_SQLITE_PATH": "/proc/nowhere/v.db"})
    assert (found.last_run_stats["attributed"], found.last_run_stats["succeeded"]) == (1, 0)
    assert found.failed(strict=False)


def test_nothing_discovered_is_no_failure_and_an_adapter_that_cannot_say_is(
    local: InProcessAttribution, tmp_path: Path
) -> None:
    file = configuration_file(tmp_path, tmp_path / "none")
    assert orchestrate(file, local).failed(strict=False)
    quiet = tmp_path / "quiet.toml"
    quiet.write_text("[eca.static]\nenabled = false\n")
    assert not orchestrate(quiet, local).failed(strict=True)


def test_stopping_leaves_no_session_behind(local: InProcessAttribution, tmp_path: Path) -> None:
    slow = SlowVerdicts(local, threading.Event())
    found = Orchestrator(read_configuration(configuration_file(tmp_path, write_jobs(tmp_path, 12)), {}), slow)
    threading.Thread(target=lambda: (slow.opened.wait(), found.stop.set())).start()
    found.run()
    assert found.last_run_stats["succeeded"] < 12
    assert found.last_run_stats["left_behind"] == 0
    assert open_sessions(local) == []


def test_over_http_the_same_verdicts(local: InProcessAttribution, tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 2))
    here = orchestrate(file, local)
    with running(tmp_path / "remote") as api, http_service_of(f"http://127.0.0.1:{api.port}") as service:
        service.check()
        there = orchestrate(file, service)
        assert api("GET", "/v2/attributor").json["sessions"] == []
        large = Observation(Kind.APPLOG, stream="big.log", text=os.urandom(5_000_000).replace(b"\n", b" ") + b"\n")
        handle = service.open({**JOB, "job_id": "large"})
        assert [service.submit(handle, large) for _ in range(2)] == ["new", "duplicate"]
        with pytest.raises(AttributorConflictError) as refused:
            service.open({**JOB, "job_id": "large"})
        assert refused.value.attributor_id == "c:large:0"
        assert isinstance(refused.value.__cause__, RefusedError)
        assert refused.value.__cause__.status == 409
        service.delete(handle)
        service.delete(handle)
    assert [one["root_symptom"] for one in here.last_run_summaries] == [
        one["root_symptom"] for one in there.last_run_summaries
    ]
    assert there.last_run_stats["succeeded"] == 2


def test_over_http_a_node_that_was_blamed_before_has_a_history(tmp_path: Path) -> None:
    cases = write_jobs(tmp_path, 1)
    (cases / "job-0000" / "applog.log").write_text("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")
    file = configuration_file(tmp_path, cases)
    with running(tmp_path / "server") as api, http_service_of(f"http://127.0.0.1:{api.port}") as service:
        assert api.host is not None
        first = orchestrate(file, service)
        verdict = first.last_run_results[0].verdict
        assert verdict is not None
        assert verdict.history == {"n1": 0}
        write_verdict(api.host.service, EVERYTHING, verdict)
        again = orchestrate(file, service).last_run_results[0].verdict
    assert again is not None
    assert again.history == {"n1": 1}


def test_a_node_that_a_sink_has_seen_fail_before_has_a_history(local: InProcessAttribution, tmp_path: Path) -> None:
    """Two jobs of one node: the second verdict knows of the first."""
    for number in range(2):
        cases = write_jobs(tmp_path / str(number), 1)
        (cases / "job-0000" / "job.toml").write_text(
            f'job_id = "{number}"\ncluster = "c"\nstate = "FAILED"\nnodes = ["n1"]\n'
        )
        (cases / "job-0000" / "applog.log").write_text("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")
        found = orchestrate(configuration_file(tmp_path, cases), local).last_run_results[0].verdict
        assert found is not None
        assert found.history == {"n1": number}


def test_another_content_under_the_same_id_is_a_conflict(local: InProcessAttribution) -> None:
    handle = local.open(JOB)
    first = Observation(Kind.APPLOG, observation_id="x", stream="a", text=b"one\n")
    assert [local.submit(handle, first) for _ in range(2)] == ["new", "duplicate"]
    with pytest.raises(SubmissionError) as refused:
        local.submit(handle, Observation(Kind.APPLOG, observation_id="x", stream="a", text=b"two\n"))
    assert refused.value.conflict


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(503, b"{}"), "503"),
        (Answer(200, b"<html>"), "unusable"),
        (Answer(200, b'{"status": "ok"}', cut=4), "health"),
        (Answer(401, b"{}"), "401"),
    ],
)
def test_a_service_that_cannot_be_used_is_found_out_before_the_run(answer: Answer, expected: str) -> None:
    with (
        scripted(answer) as server,
        http_service_of(server.url, tries=1, request_seconds=2.0) as service,
        pytest.raises(AttributionFailedError, match=expected),
    ):
        service.check()


def test_a_service_of_another_schema_is_refused() -> None:
    health = {
        "status": "ok",
        "version": "9",
        "verdict_schema": "3",
        "accepted_observation_schemas": ["3"],
        "spill_schema": 1,
        "rules_digest": "",
        "rules": 0,
    }
    with (
        scripted(Answer(200, json.dumps(health).encode())) as server,
        http_service_of(server.url) as service,
        pytest.raises(AttributionFailedError, match="expected 2 and 2"),
    ):
        service.check()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def attribution(*arguments: str, **how: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "attribution_cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)  # noqa: S603 -- our own interpreter


def rest_of(run: subprocess.Popen[str]) -> str:
    """What it printed after the line that was read; ``communicate`` would lose what came together with that line."""
    assert run.stdout is not None
    with run.stdout:
        output = run.stdout.read()
    run.wait(timeout=60)
    return output


@contextmanager
def serving(data: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A real ``attribution serve``; killed at the end if a test has not ended it."""
    server = attribution("serve", "--data", str(data), "--port", str(port))
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()
    try:
        yield server
    finally:
        server.kill()
        server.communicate(timeout=30)


def fates(output: str) -> dict[str, str]:
    """What each context's line says became of it."""
    lines = (line.split(": ") for line in output.splitlines())
    return {parts[0]: parts[1] for parts in lines if parts[0].startswith("c:1") and len(parts) > 1}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_a_service_that_restarts_in_the_middle_costs_no_context(how: signal.Signals, tmp_path: Path) -> None:
    """Every context is told of; one whose session the lost service left open is a conflict, and a later run's."""
    port, data = free_port(), tmp_path / "srv"
    url = f"http://127.0.0.1:{port}"
    file = configuration_file(tmp_path, write_jobs(tmp_path, 60), service_url=url, tries="9", request_seconds="20")
    with serving(data, port) as server:
        run = attribution("run", "--configs", str(file))
        assert run.stdout is not None
        begun = run.stdout.readline()
        server.send_signal(how)
        server.wait(timeout=30)
    with serving(data, port):
        output = begun + rest_of(run)
    assert run.returncode == 0, output
    told = fates(output)
    assert len(told) == 60, output
    assert set(told.values()) <= {"attributed", "failed", "conflicted"}, output
    written = set(runs_in(tmp_path / "v.db"))
    assert len(written) == sum(fate == "attributed" for fate in told.values()) >= 50, output
    assert f"Attribution complete: {len(written)}/60 execution contexts succeeded." in output


def test_two_orchestrators_on_one_real_service_share_the_jobs_between_them(tmp_path: Path) -> None:
    """Whoever comes second meets a conflict, leaves the session alone, and does the job when it is free."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    again = "[run]\nretry_conflicts = 20\nretry_conflicts_seconds = 0.2\n"
    file = configuration_file(tmp_path, write_jobs(tmp_path, 20), again, service_url=url)
    with serving(tmp_path / "srv", port):
        both = [attribution("run", "--configs", str(file)) for _ in range(2)]
        outputs = [one.communicate(timeout=120)[0] for one in both]
        left = Client(Transport(url)).sessions().sessions
    assert [one.returncode for one in both] == [0, 0], outputs
    assert all("Attribution complete: 20/20 execution contexts succeeded." in output for output in outputs), outputs
    assert len(set(runs_in(tmp_path / "v.db"))) == 20
    assert left == []


def test_a_service_that_never_comes_back_is_a_failure_of_every_context_that_was_left(tmp_path: Path) -> None:
    port = free_port()
    settings = {"service_url": f"http://127.0.0.1:{port}", "tries": "2", "request_seconds": "5"}
    file = configuration_file(tmp_path, write_jobs(tmp_path, 12), **settings)
    with serving(tmp_path / "srv", port) as server:
        run = attribution("run", "--configs", str(file))
        assert run.stdout is not None
        begun = run.stdout.readline()
        server.kill()
        output = begun + rest_of(run)
    told = fates(output)
    assert len(told) == 12, output
    assert "failed" in told.values()
    assert run.returncode == (0 if "attributed" in told.values() else 1)
    assert len(runs_in(tmp_path / "v.db")) == sum(fate == "attributed" for fate in told.values())


def test_two_orchestrators_on_the_same_jobs_lose_none_and_leave_none(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 30))
    both = [attribution("run", "--configs", str(file)) for _ in range(2)]
    outputs = [one.communicate(timeout=120)[0] for one in both]
    assert all("Attribution complete: " in output for output in outputs), outputs
    assert len(set(runs_in(tmp_path / "v.db"))) == 30
    with local_service_of(tmp_path) as service:
        assert open_sessions(service) == []


def test_ctrl_c_ends_the_run_in_order(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 200))
    run = attribution("run", "--configs", str(file))
    assert run.stdout is not None
    run.stdout.readline()
    run.send_signal(signal.SIGINT)
    output = rest_of(run)
    assert run.returncode == 130, output
    assert "Attribution complete: " in output
    with local_service_of(tmp_path) as service:
        assert open_sessions(service) == []


def test_the_command_prints_totals_over_all_files(tmp_path: Path) -> None:
    for name, count in (("a", 2), ("b", 1)):
        (tmp_path / name).mkdir()
        configuration_file(tmp_path / name, write_jobs(tmp_path / name, count))
    found = CliRunner().invoke(main, ["run", "--configs", str(tmp_path / "a"), str(tmp_path / "b" / "site.toml")])
    assert found.exit_code == 0, found.output
    assert found.output.rstrip().endswith("Attribution complete: 3/3 execution contexts succeeded.")


def test_files_that_name_one_sink_share_it_and_each_verdict_shows_once(tmp_path: Path) -> None:
    """One database for both files, and one table at the end with a row a job."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        cases = write_jobs(tmp_path / name, 1)
        (cases / "job-0000" / "job.toml").write_text(f'job_id = "job-{name}"\nstate = "FAILED"\nnodes = ["n1"]\n')
        configuration_file(tmp_path / name, cases, '[output.table.stdout]\nformat = "table"\n')
    files = [str(tmp_path / name / "site.toml") for name in ("a", "b")]
    one = ["--connector", "output", "db", "sqlite", "path", str(tmp_path / "v.db")]
    found = CliRunner().invoke(main, ["run", "--configs", *files, *one])
    assert found.exit_code == 0, found.output
    assert len(runs_in(tmp_path / "v.db")) == 2
    assert [found.output.count(f"job-{name}") for name in ("a", "b")] == [1, 1]


def test_standard_output_carries_verdicts_alone(tmp_path: Path) -> None:
    cases = write_jobs(tmp_path, 2)
    words = (
        "run",
        "--connector",
        "eca",
        "static",
        "cases",
        str(cases),
        "--connector",
        "log",
        "file",
        "source",
        "applog",
    )
    found = CliRunner().invoke(main, [*words, "--connector", "attribution", "data", str(tmp_path / "store")])
    assert found.exit_code == 0, found.output
    verdicts = [json.loads(line) for line in found.stdout.splitlines()]
    assert {verdict["job"]["job_id"] for verdict in verdicts} == {"1000", "1001"}
    assert "Attribution complete: 2/2 execution contexts succeeded." in found.stderr


def test_a_dry_run_shows_what_would_be_read_and_touches_nothing(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1))
    found = CliRunner().invoke(main, ["run", "--dry-run", "--configs", str(file)])
    assert found.exit_code == 0, found.output
    assert "c:1000:0  FAILED  1 nodes" in found.output
    assert "app: " in found.output
    assert "job-0000/applog.log" in found.output
    assert "output.db.sqlite" in found.output
    assert not (tmp_path / "v.db").exists()
    assert not (tmp_path / "store").exists()


def test_a_configuration_that_reads_no_evidence_is_told_of(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1))
    assert "no evidence is read" not in CliRunner().invoke(main, ["run", "--dry-run", "--configs", str(file)]).stderr
    static = ["--connector", "eca", "static", "job_id", "1"]
    found = CliRunner().invoke(main, ["run", "--dry-run", *static])
    assert found.exit_code == 0
    assert "no log and no metric is configured, so no evidence is read; expected at least [log.file]" in found.stderr


def test_a_fleet_that_reads_no_evidence_is_told_of(tmp_path: Path) -> None:
    words = ("--connector", "eca", "static", "job_id", "1", "--connector", "attribution", "data", str(tmp_path / "s"))
    found = CliRunner().invoke(main, ["fleet", "start", *words])
    assert found.exit_code == 0, found.output
    assert "no log and no metric is configured, so no evidence is read" in found.stderr


def test_case_folders_of_one_attempt_are_told_of_and_the_first_is_attributed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases = write_jobs(tmp_path, 3)
    (cases / "job-0002" / "job.toml").write_text((cases / "job-0001" / "job.toml").read_text())
    file = configuration_file(tmp_path, cases)
    found = CliRunner().invoke(main, ["run", "--dry-run", "--configs", str(file)])
    assert found.exit_code == 0, found.output
    assert f"{cases}/job-0002 is c:1001:0 like {cases}/job-0001" in caplog.text


def test_a_folder_of_cases_may_be_given_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jobs(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    words = ("--connector", "eca", "static", "cases", "cases", "--connector", "log", "app", "file", "source", "applog")
    found = CliRunner().invoke(main, ["run", *words, "--connector", "attribution", "data", str(tmp_path / "store")])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["evidence_status"] == "complete"


def test_bad_configuration_is_exit_status_2() -> None:
    found = CliRunner().invoke(main, ["run", "--connector", "run", "concurrency", "many"])
    assert found.exit_code == 2
    assert "CLI --connector run concurrency" in found.output
    nothing = CliRunner().invoke(main, ["run"])
    assert nothing.exit_code == 2
    assert "no eca is configured" in nothing.output
