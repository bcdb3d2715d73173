"""Fleets in this process: exact totals whatever happens to contexts, nothing left open, and a record that survives."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.fleet import Fleet
from attribution_blueprint.settings import read_configuration
from attribution_service.model import VerdictQuery
from attribution_service.run_records import RowStatus, RunRow, RunState
from attribution_service.service import EVERYTHING
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdicts import query_verdicts
from fleet_kit import Expected, Simulation, copy_samples, rows_of, runs_in, samples_configuration
from run_kit import SlowVerdicts, configuration_file, local_service_of, open_sessions, orchestrate, write_jobs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.base import Handle
    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
    from attribution_lib.job.model import JobInfo


def fleet(file: Path, service: InProcessAttribution, run_id: str = "r1", **how: Any) -> Fleet:
    """A fleet of a configuration file over the local store."""
    return Fleet(read_configuration(file, {}), service, rows_of(service), run_id, service.service, **how)


def test_a_simulated_fleet_counts_every_mishap_and_leaves_nothing_open(folder: Path) -> None:
    simulation = Simulation(folder, Expected(60)).prepare()
    service = simulation.connect()
    summary = simulation.run(service)
    found = {name: getattr(summary.totals, name) for name in simulation.expected.totals}
    assert found == simulation.expected.totals
    assert (summary.run.state, summary.run.contexts, summary.totals.left_behind) == (RunState.ENDED, 60, 0)
    assert simulation.left_open(service) == 0
    assert simulation.counters(service) == simulation.expected.counters
    rows = {int(row.job_id): row for row in simulation.rows(service)}
    by_status = {status: {n for n, row in rows.items() if row.status == status} for status in RowStatus}
    assert by_status[RowStatus.CONFLICTED] == simulation.expected.conflicted
    assert by_status[RowStatus.FAILED] == simulation.expected.crashing
    assert {n for n, row in rows.items() if row.evidence_status == "partial"} == simulation.expected.faulty
    service.close()


def test_what_was_in_the_way_is_done_when_the_run_goes_on(folder: Path) -> None:
    simulation = Simulation(folder, Expected(20)).prepare()
    service = simulation.connect()
    assert simulation.run(service).totals.conflicted == 1
    before = {row.context: row for row in simulation.rows(service)}
    for handle in simulation.theirs:
        service.delete(handle)
    simulation.expected = Expected(0)  # nobody is in the way, nothing crashes
    found = simulation.run(service).totals
    assert (found.attributed, found.conflicted, found.failed) == (20, 0, 0)
    after = {row.context: row for row in simulation.rows(service)}
    assert {key for key in after if after[key] != before[key]} == {"sim:3:0", "sim:11:0"}
    service.close()


def test_a_later_run_finds_the_verdicts_that_there_are(local: InProcessAttribution, folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 4))
    fleet(file, local).run()
    found = fleet(file, local, "r2").run()
    assert (found.totals.attributed, found.totals.succeeded, found.totals.found) == (4, 4, 4)
    assert {row.verdict_run for row in rows_of(local).rows("r2")} == {"r1"}
    assert runs_in(folder) == ["r1"] * 4


def test_again_adds_a_run_to_each(local: InProcessAttribution, folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 2))
    for run in ("r1", "r2"):
        assert fleet(file, local, run, again=True).run().totals.found == 0
    assert runs_in(folder) == ["r1", "r1", "r2", "r2"]
    listed = query_verdicts(local.service, EVERYTHING, VerdictQuery()).verdicts
    assert [head.run_id for head in listed] == ["r2", "r2"]


def test_a_run_that_began_with_again_goes_on_with_it(local: InProcessAttribution, folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 4))
    fleet(file, local).run()
    rows_of(local).begin("r2", again=True)  # and was killed
    assert fleet(file, local, "r2").run().totals.found == 0
    assert fleet(file, local, "r3").run().totals.found == 4
    assert rows_of(local).record("r2").again


@dataclass
class StopAfter:
    """Ends a run after so many contexts."""

    count: int
    stop: threading.Event
    rows: list[RunRow] = field(default_factory=list)

    def found(self, count: int) -> None: ...

    def ended(self, row: RunRow) -> None:
        self.rows.append(row)
        if len(self.rows) >= self.count:
            self.stop.set()


@dataclass
class StoppedAtWork:
    """An attribution whose run is ended while its first session is open."""

    inner: InProcessAttribution
    stop: threading.Event

    def open(self, job: JobInfo) -> Handle:
        self.stop.set()
        return self.inner.open(job)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_what_an_interruption_met_in_the_middle_did_not_fail(local: InProcessAttribution, folder: Path) -> None:
    file, stop = configuration_file(folder, write_jobs(folder, 4)), threading.Event()
    found = replace(fleet(file, local, stop=stop), service=StoppedAtWork(local, stop)).run()
    assert (found.run.state, found.totals.failed, found.totals.pending) == (RunState.INTERRUPTED, 0, 4)
    assert open_sessions(local) == []
    assert fleet(file, local).run().totals.attributed == 4


def test_an_interrupted_run_says_so_and_goes_on_where_it_stopped(local: InProcessAttribution, folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 12), "[run]\nconcurrency = 2\n")
    stop = threading.Event()
    first = fleet(file, local, watcher=StopAfter(3, stop), stop=stop).run()
    assert first.run.state is RunState.INTERRUPTED
    assert 3 <= first.totals.attributed < 12
    assert (first.totals.failed, first.totals.pending) == (0, 12 - first.totals.attributed)
    assert open_sessions(local) == []
    done = {row.context: row for row in rows_of(local).rows("r1") if row.succeeded}
    second = fleet(file, local).run()
    assert (second.run.state, second.totals.attributed, second.totals.failed) == (RunState.ENDED, 12, 0)
    assert second.run.started_at == first.run.started_at
    assert {row.context: row for row in rows_of(local).rows("r1") if row.context in done} == done


@dataclass
class Counting:
    """How many sessions are open at once."""

    inner: InProcessAttribution
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, job: Mapping[str, Any]) -> Handle:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        return self.inner.open(job)

    def delete(self, handle: Handle) -> None:
        self.inner.delete(handle)
        with self.lock:
            self.now -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_no_more_contexts_are_worked_on_than_configured(local: InProcessAttribution, folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 9), "[run]\nconcurrency = 3\n")
    slow = SlowVerdicts(local, threading.Event(), seconds=0.02)
    counting = Counting(slow)  # type: ignore[arg-type]  # the same calls
    Fleet(read_configuration(file, {}), counting, rows_of(local), "r1", local.service).run()  # type: ignore[arg-type]
    assert (counting.most, counting.now) == (3, 0)


def test_conflicts_are_tried_again_when_asked(local: InProcessAttribution, folder: Path) -> None:
    theirs = local.open({"job_id": "1000", "cluster": "c", "state": "FAILED", "nodes": ["n1"]})
    text = "[run]\nretry_conflicts = 40\nretry_conflicts_seconds = 0.05\n"
    file = configuration_file(folder, write_jobs(folder, 2), text)
    threading.Timer(0.3, lambda: local.delete(theirs)).start()
    found = fleet(file, local).run().totals
    assert (found.attributed, found.conflicted) == (2, 0)


def test_a_scheduler_that_cannot_be_asked_ends_the_run_as_failed(local: InProcessAttribution, folder: Path) -> None:
    (folder / "empty").mkdir()
    found = fleet(configuration_file(folder, folder / "empty"), local).run()
    assert found.run.state is RunState.FAILED
    assert "no case folder" in found.run.errors[0]
    assert found.totals.contexts == 0


def test_a_fleet_without_any_sink_is_refused_before_it_begins(local: InProcessAttribution, folder: Path) -> None:
    file = folder / "site.toml"
    file.write_text(f'[eca.static]\ncases = ["{write_jobs(folder, 1)}"]\n[log.app.file]\n')
    remote = Fleet(read_configuration(file, {}), local, rows_of(local), "r1")
    with pytest.raises(ConfigError, match="no output but stdout is configured"):
        remote.run()
    assert rows_of(local).latest() == []


def test_a_sink_that_takes_nothing_is_told_and_the_table_has_the_verdict(
    local: InProcessAttribution, folder: Path
) -> None:
    file = configuration_file(folder, write_jobs(folder, 1))
    (folder / "v.db").mkdir()
    found = fleet(file, local).run()
    (row,) = rows_of(local).rows("r1")
    assert (row.written, row.succeeded, found.totals.succeeded) == (["verdicts"], True, 1)
    assert row.reason.startswith("output db: ")


VOLATILE = ("run_id", "attributed_at")


def verdicts_in(path: Path) -> dict[str, Any]:
    """{context: verdict} of a database, without what differs between runs of the same evidence."""
    database = VerdictDatabase.open(path)
    found = {}
    for (body,) in database.connection.execute("SELECT verdict FROM attribution_run").fetchall():
        verdict = json.loads(body)
        for name in VOLATILE:
            del verdict[name]
        found[verdict["attributor_id"]] = verdict
    database.close()
    return found


def test_a_fleet_says_what_a_run_says(folder: Path) -> None:
    """Real evidence of every kind, through both, into two databases: the same verdicts but for run ids and times."""
    configuration = samples_configuration(copy_samples(folder, 12)) + '[output.db.sqlite]\npath = "v.db"\n'
    for name in ("run", "fleet"):
        (folder / name).mkdir()
        (folder / name / "site.toml").write_text(configuration)
    with local_service_of(folder / "run") as service:
        orchestrate(folder / "run" / "site.toml", service)
    with local_service_of(folder / "fleet") as service:
        assert fleet(folder / "fleet" / "site.toml", service).run().totals.succeeded == 12
    assert verdicts_in(folder / "fleet" / "v.db") == verdicts_in(folder / "run" / "v.db")
    assert len(verdicts_in(folder / "run" / "v.db")) == 12
