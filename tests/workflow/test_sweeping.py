"""What an execution leaves that is aborted, times out, or ends unheard of: the sweeper removes it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from asl_kit import BUCKET, ROOT, Ended, Interpreter, interpreter
from attribution_service.errors import NotFoundError
from attribution_service.model import OpenRequest, SessionQuery
from attribution_service.run_records import RowStatus, RunState
from attribution_service.run_rows import RunRows
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions, open_session
from attribution_service.stores.aws_executions import describe_execution
from attribution_service.workflow.keys import ContextKeys
from attribution_service.workflow.sweeping import Execution, close_run, sweep_execution, sweep_lost
from http_kit import ENGINE
from run_kit import configuration_file, write_jobs
from service_kit import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_service.ports import Store
    from attribution_service.service import Service

ARN = "arn:aws:states:us-east-1:123456789012:execution:attribution-job:"


def opened(service: Service, job_id: str, opened_by: str) -> None:
    request = OpenRequest(job={"job_id": job_id, "cluster": "c", "state": "FAILED"})
    open_session(service, EVERYTHING, request, opened_by=opened_by)
    run_id = opened_by.rpartition(":")[2] or "by-hand"
    service.store.objects.put(ContextKeys(run_id, f"c:{job_id}:0").batch("app", 0), b"evidence")


def still_open(service: Service) -> list[str]:
    return [view.attributor_id for view in list_sessions(service, EVERYTHING, SessionQuery()).sessions]


def test_an_execution_that_was_aborted_leaves_nothing_but_its_row(store: Store) -> None:
    world = World(store, ENGINE())
    opened(world.service, "1", f"{ARN}r1")
    opened(world.service, "2", f"{ARN}r2")
    opened(world.service, "3", "")
    swept = sweep_execution(world.service, f"{ARN}r1", run_id="r1", status="ABORTED")
    assert swept.sessions == ["c:1:0"]
    assert still_open(world.service) == ["c:2:0", "c:3:0"]
    assert world.listed("collected/r1/") == []
    assert world.listed("collected/r2/") != []
    row = RunRows.of(store, world.service.clock).row("r1", "c:1:0")
    assert row is not None
    assert (row.status, row.reason) == (RowStatus.FAILED, "the execution ended as ABORTED")


def test_sweeping_twice_finds_nothing_the_second_time(store: Store) -> None:
    world = World(store, ENGINE())
    opened(world.service, "1", f"{ARN}r1")
    assert sweep_execution(world.service, f"{ARN}r1", run_id="r1", status="TIMED_OUT").sessions == ["c:1:0"]
    assert sweep_execution(world.service, f"{ARN}r1", run_id="r1", status="TIMED_OUT").sessions == []


def test_by_schedule_only_what_is_old_opened_by_an_execution_and_over_is_removed(store: Store) -> None:
    world = World(store, ENGINE())
    opened(world.service, "1", f"{ARN}over")
    opened(world.service, "2", f"{ARN}running")
    opened(world.service, "3", "")
    world.now += 601
    opened(world.service, "4", f"{ARN}over-and-young")

    def describe(execution: str) -> Execution:
        return Execution("RUNNING" if execution.endswith("running") else "TIMED_OUT", "over")

    assert sweep_lost(world.service, describe).sessions == ["c:1:0"]
    assert sorted(still_open(world.service)) == ["c:2:0", "c:3:0", "c:4:0"]
    assert world.listed("collected/over/") == []


def test_a_context_whose_cleanup_alone_failed_gets_no_row_of_failure(store: Store) -> None:
    world = World(store, ENGINE())
    opened(world.service, "1", f"{ARN}r1")
    world.now += 601
    assert sweep_lost(world.service, lambda _: Execution("SUCCEEDED", "fleet-1")).sessions == ["c:1:0"]
    assert RunRows.of(store, world.service.clock).row("fleet-1", "c:1:0") is None


@pytest.mark.parametrize(
    ("status", "contexts", "state"),
    [
        ("ABORTED", 3, RunState.INTERRUPTED),
        ("TIMED_OUT", 3, RunState.INTERRUPTED),
        ("ABORTED", None, RunState.INTERRUPTED),
        ("FAILED", None, RunState.FAILED),
        ("FAILED", 3, RunState.ENDED),
    ],
)
def test_the_record_of_a_fleet_is_closed_as_what_its_execution_ended_as(
    store: Store, status: str, contexts: int | None, state: RunState
) -> None:
    world = World(store, ENGINE())
    rows = RunRows.of(store, world.service.clock)
    rows.begin("nightly", runner="execution-1")
    if contexts is not None:
        rows.expect("nightly", contexts, ["slurm: no answer"])
    assert close_run(world.service, "nightly", runner="execution-1", status=status) == "nightly"
    found = rows.summary("nightly")
    assert (found.run.state, found.run.contexts) == (state, contexts or 0)
    assert found.run.errors == [*(["slurm: no answer"] if contexts else []), f"the execution ended as {status}"]
    assert found.totals.pending == (contexts or 0) * (state is RunState.INTERRUPTED)
    world.now += 60
    assert close_run(world.service, "nightly", runner="execution-1", status=status) == ""
    assert rows.record("nightly") == found.run


def test_only_the_execution_that_carries_a_run_out_closes_its_record_and_only_while_it_is_open(store: Store) -> None:
    """A job of a fleet names the fleet's run; and the end of a run that was kept is the right one."""
    world = World(store, ENGINE())
    rows = RunRows.of(store, world.service.clock)
    rows.begin("nightly", runner="execution-1")
    assert close_run(world.service, "nightly", runner="a-job-of-it", status="ABORTED") == ""
    assert rows.record("nightly").state is RunState.RUNNING
    rows.end("nightly")
    assert close_run(world.service, "nightly", runner="execution-1", status="TIMED_OUT") == ""
    assert (rows.record("nightly").state, rows.record("nightly").errors) == (RunState.ENDED, [])
    assert close_run(world.service, "a-job-by-itself", runner="a-job-by-itself", status="ABORTED") == ""
    with pytest.raises(NotFoundError):
        rows.record("a-job-by-itself")


def test_the_execution_that_goes_on_with_a_run_closes_its_record(store: Store) -> None:
    world = World(store, ENGINE())
    rows = RunRows.of(store, world.service.clock)
    for execution in ("execution-1", "execution-2"):
        rows.begin("nightly", runner=execution)
    assert close_run(world.service, "nightly", runner="execution-1", status="ABORTED") == ""
    assert close_run(world.service, "nightly", runner="execution-2", status="ABORTED") == "nightly"
    assert rows.record("nightly").state is RunState.INTERRUPTED


def test_what_step_functions_says_of_an_execution_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/nothing.toml")
    with interpreter() as made:
        ended = made.start("job", {"job": {"job_id": "1"}, "run_id": "fleet-9"})
        assert describe_execution(ended.arn) == Execution("SUCCEEDED", "fleet-9")
        unknown = describe_execution(f"{ended.arn}-never")
        assert not unknown.running


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Interpreter]:
    """A deployment with a job to attribute."""
    monkeypatch.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/site.toml")
    monkeypatch.setenv("ATTRIBUTION_BUCKET", BUCKET)
    file = configuration_file(tmp_path, write_jobs(tmp_path, 1))
    with interpreter() as deployed:
        deployed.put("config/site.toml", file.read_bytes())
        yield deployed


def stopped_at_work(made: Interpreter, machine: str, given: dict[str, Any]) -> Ended:
    """An execution that somebody stops while a job of it is being attributed."""
    attribute, at_work, go_on = made.handlers["attribute"], threading.Event(), threading.Event()

    def slow(event: dict[str, Any], context: Any) -> Any:
        answer = attribute(event, context)
        at_work.set()
        go_on.wait(20)
        return answer

    made.handlers["attribute"] = slow
    started = made.start(machine, given, wait=False)
    assert at_work.wait(20)
    client = boto3.client("stepfunctions", region_name="us-east-1")
    client.stop_execution(executionArn=started.arn)
    go_on.set()
    for job in client.list_executions(stateMachineArn=made.machines["job"])["executions"]:
        made.end(job["executionArn"])  # jobs of a fleet go on: not into the next test
    return made.end(started.arn)


def swept(made: Interpreter, ended: Ended, given: dict[str, Any]) -> Any:
    """The sweeper's answer to the event of an execution's end."""
    event = json.loads((ROOT / "events" / "sweep" / "execution_aborted.json").read_text())
    name = ended.arn.rpartition(":")[2]
    event["detail"] |= {"executionArn": ended.arn, "name": name, "status": ended.status, "input": json.dumps(given)}
    return made.handlers["sweep"](event, _Context(made.host))


def test_an_execution_stopped_at_work_is_swept_by_its_event(made: Interpreter) -> None:
    given = {"job_id": "1000", "adapter": "static", "run_id": "fleet-7"}
    ended = stopped_at_work(made, "job", given)
    assert ended.status == "ABORTED"
    service = made.host.service
    assert still_open(service) == ["c:1000:0"]
    assert swept(made, ended, given) == {"sessions": ["c:1000:0"], "run": ""}
    assert still_open(service) == []
    assert [info.key for info in service.store.objects.list("collected/")] == []
    row = RunRows.of(service.store, service.clock).row("fleet-7", "c:1000:0")
    assert row is not None
    assert row.status is RowStatus.FAILED
    assert made.handlers["sweep"]({"sweep_lost": {}}, _Context(made.host)) == {"sessions": [], "run": ""}


@pytest.mark.parametrize("given", [{"adapter": "static"}, {"adapter": "static", "run_id": "nightly"}])
def test_a_fleet_stopped_at_work_does_not_run_for_ever_in_its_record(made: Interpreter, given: dict[str, str]) -> None:
    ended = stopped_at_work(made, "fleet", given)
    run_id = given.get("run_id", ended.arn.rpartition(":")[2])
    rows = RunRows.of(made.host.service.store, made.host.service.clock)
    assert (ended.status, rows.record(run_id).state) == ("ABORTED", RunState.RUNNING)
    assert swept(made, ended, given)["run"] == run_id
    assert (rows.record(run_id).state, rows.record(run_id).errors) == (
        RunState.INTERRUPTED,
        ["the execution ended as ABORTED"],
    )
    assert swept(made, ended, given)["run"] == ""


class _Context:
    aws_request_id = "test"

    def __init__(self, host: Any) -> None:
        self.attribution_host = host
