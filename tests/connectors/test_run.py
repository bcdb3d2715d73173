"""Whole runs in this process: what is attributed, what is told of what failed, what is left behind (nothing)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from attribution_blueprint.collecting import Collecting, Source
from attribution_blueprint.context import ExecutionContext
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.settings import read_configuration
from run_kit import (
    JOB,
    LINE,
    Misbehaving,
    SlowVerdicts,
    configuration_file,
    open_sessions,
    orchestrate,
    runs_in,
    write_jobs,
)

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution


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
    assert time.monotonic() - started < 15  # what hangs does so for 20 s
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
