"""``attribution fleet``: a run is started, followed and summed up, and its exit status says how it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from attribution_cli.main import main
from attribution_service.run_records import IN_PROCESS, RowStatus, RunRow, RunState
from fleet_kit import rows_of, runs_in
from http_kit import running
from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution


def command(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["fleet", *map(str, arguments)], catch_exceptions=False)


def test_a_fleet_over_http_keeps_its_record_here(folder: Path) -> None:
    cases = write_jobs(folder, 3)
    with running(folder / "remote") as api:
        file = configuration_file(folder, cases, service_url=f"http://127.0.0.1:{api.port}")
        started = command("start", "--configs", file, "--run-id", "r1", "--json")
        assert api("GET", "/v2/attributor").json["sessions"] == []
    assert (started.exit_code, json.loads(started.stdout)["totals"]["succeeded"]) == (0, 3)
    assert command("status", "r1", "--data", folder / "store").exit_code == 0
    assert runs_in(folder) == ["r1"] * 3


def test_a_fleet_is_started_followed_and_summed_up(folder: Path) -> None:
    file = configuration_file(folder, write_jobs(folder, 3))
    data = folder / "store"
    started = command("start", "--configs", file, "--run-id", "night-1", "--json")
    assert started.exit_code == 0
    told = json.loads(started.stdout)
    assert told["totals"]["succeeded"] == 3
    assert told["run"]["source"] == str(file)
    assert "run night-1" in started.stderr
    assert str(data) in started.stderr
    status = command("status", "night-1", "--data", data, "--rows")
    assert status.exit_code == 0
    assert "3 contexts, 3 attributed, 0 conflicted, 0 failed, 3 succeeded" in status.stdout
    assert "c:1001:0: fail application CUDA out of memory" in status.stdout
    listed = command("status", "--data", data)
    assert "night-1" in listed.stdout
    summed = command("summary", "night-1", "--data", data)
    assert summed.exit_code == 0
    assert "3 observations, 6 lines" in summed.stdout
    assert "3  application" in summed.stdout
    lines = command("status", "night-1", "--data", data, "--rows", "--json").stdout.splitlines()
    assert [json.loads(line).get("context", "") for line in lines] == ["", "c:1000:0", "c:1001:0", "c:1002:0"]


def test_a_run_that_goes_on_is_told_from_one_that_is_over_by_the_exit_status(
    local: InProcessAttribution, folder: Path
) -> None:
    rows, data = rows_of(local), folder / "store"
    rows.begin("r1")
    rows.expect("r1", 2)
    assert command("status", "r1", "--data", data).exit_code == 3
    assert command("summary", "r1", "--data", data).exit_code == 3
    rows.end("r1")
    assert command("status", "r1", "--data", data).exit_code == 1  # there were jobs, and no verdict
    unknown = command("summary", "r2", "--data", data)
    assert (unknown.exit_code, unknown.stderr) == (2, "there is no run 'r2'\n")


@pytest.mark.parametrize(
    ("runner", "how"),
    [
        (IN_PROCESS, "go on with: attribution fleet start --run-id r1"),
        ("execution-1", "start the same query again; what has a verdict is found"),
    ],
)
def test_an_interrupted_run_is_told_from_one_that_is_done(
    local: InProcessAttribution, folder: Path, runner: str, how: str
) -> None:
    """Even where all that it came to has a verdict: the rest has none, and a script must not go on as if it had."""
    rows, data = rows_of(local), folder / "store"
    rows.begin("r1", runner=runner)
    rows.expect("r1", 2)
    rows.write(RunRow(run_id="r1", context="c:1:0", status=RowStatus.ATTRIBUTED, succeeded=True))
    rows.end("r1", RunState.INTERRUPTED)
    assert command("status", "r1", "--data", data).exit_code == 130
    summed = command("summary", "r1", "--data", data)
    assert (summed.exit_code, "1 pending" in summed.stdout) == (130, True)
    assert f"  interrupted; {how}" in summed.stdout


@pytest.mark.parametrize("arguments", [("status",), ("status", "r1"), ("summary", "r1")])
def test_a_folder_that_is_not_there_is_told_and_not_made(folder: Path, arguments: tuple[str, ...]) -> None:
    wrong = folder / "mistyped"
    told = command(*arguments, "--data", wrong)
    assert (told.exit_code, f"--data {wrong}: there is no such folder" in told.stderr) == (2, True)
    assert not wrong.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run-id", "a b"], "--run-id 'a b': is no id"),
        (["--wait"], "--wait: goes with --state-machine only"),
        (["--state-machine", "fleet"], "--adapter: missing"),
        (["--state-machine", "fleet", "--adapter", "slurm"], "'fleet' is no state machine; expected arn:aws:states:"),
        (["--state-machine", "fleet", "--adapter", "slurm", "--query", "since"], "--query 'since': is no setting"),
        (["--configs", "nowhere.toml"], "--configs nowhere.toml: is not there"),
        ([], "no eca is configured"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_started_is_refused_with_what_is_accepted(arguments: list[str], said: str) -> None:
    found = command("start", *arguments)
    assert found.exit_code == 2
    assert said in found.stderr
