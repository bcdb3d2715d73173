"""``attribution run`` as its user sees it: totals, what is printed where, dry runs, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from attribution_cli.main import main
from run_kit import configuration_file, runs_in, write_jobs

if TYPE_CHECKING:
    from pathlib import Path

SLURM = ("--connector", "eca", "slurm", "ids", "4711", "--connector", "log", "file", "source", "applog")


def attribution(*words: str) -> subprocess.CompletedProcess[str]:
    """A whole process of the command, as a terminal sees it."""
    command = [sys.executable, "-m", "attribution_cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 -- our own interpreter


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
    assert [found.output.count(f"site default:job-{name}:0") for name in ("a", "b")] == [1, 1]


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


@pytest.fixture
def rude_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``sacct`` that fails and says why in colour, with a new title for the terminal."""
    program = tmp_path / "bin" / "sacct"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '\\033[31mno database\\033]0;title\\007\\n' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    "words",
    [
        ("run", *SLURM),
        ("run", "--dry-run", *SLURM),
        ("fleet", "start", *SLURM),
        ("explain", "--job", "4711"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
@pytest.mark.usefixtures("rude_scheduler")
def test_what_a_scheduler_says_is_told_once_and_shown_not_obeyed(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVAB_ATTRIBUTION_DATA", str(tmp_path / "store"))
    found = attribution(*words)
    output = found.stdout + found.stderr
    assert found.returncode == 1, output
    assert output.count(r"eca slurm: sacct: failed (1): \x1b[31mno database\x1b]0;title\x07") == 1, output
    assert "\x1b" not in output


def test_a_scheduler_that_is_not_there_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("NVAB_ATTRIBUTION_DATA", str(tmp_path / "store"))
    found = attribution("explain", "--job", "4711")
    assert (found.returncode, found.stderr) == (1, "eca slurm: sacct: is not there; expected the program on PATH\n")


def test_messages_of_a_run_are_shown_not_obeyed(tmp_path: Path) -> None:
    """They name files, and a file may be called anything."""
    cases = write_jobs(tmp_path, 1).rename(tmp_path / "\x1b[31m")
    (cases / "twice").mkdir()
    (cases / "twice" / "job.toml").write_text((cases / "job-0000" / "job.toml").read_text())
    words = ("--connector", "eca", "static", "cases", str(cases), "--connector", "log", "file", "source", "applog")
    found = attribution("run", "--dry-run", *words)
    assert found.returncode == 0, found.stderr
    assert "\\x1b[31m/twice is c:1000:0 like " in found.stderr
    assert "\x1b" not in found.stdout + found.stderr


def test_a_level_of_messages_that_there_is_not_is_refused() -> None:
    for words in (("run",), ("fleet", "start"), ("serve",)):
        found = CliRunner().invoke(main, [*words, "--log-level", "loud"])
        assert (found.exit_code, "'loud' is not one of" in found.output) == (2, True)


def test_a_mistyped_folder_of_evidence_is_refused_and_not_made(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["replay", "--data", str(tmp_path / "mistyped")])
    assert (found.exit_code, "mistyped: there is no such folder; expected " in found.stderr) == (2, True)
    assert not (tmp_path / "mistyped").exists()
