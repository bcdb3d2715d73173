"""Disks that are full, really: a small tmpfs where we may mount one, and a limit on the size of files elsewhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOBS = 40


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:  # noqa: S603 -- ours
        pytest.skip("may not mount a file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607 -- ours


def run(file: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "attribution_cli", "run", "--configs", str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 -- ours


def runs_in(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute("SELECT count(*) FROM attribution_run").fetchone()[0])


def test_a_disk_that_fills_up_costs_the_verdicts_that_are_told_and_no_others(small_disk: Path, tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, JOBS))
    file.write_text(file.read_text().replace(f"{tmp_path}/v.db", f"{small_disk}/v.db"))
    done = run(file)
    unwritten = done.stdout.count("NOT WRITTEN: output db: ")
    assert "database or disk is full" in done.stdout
    assert done.returncode == 0, done.stderr
    written = runs_in(small_disk / "v.db")
    assert 0 < written == JOBS - unwritten < JOBS
    assert f"Attribution complete: {written}/{JOBS} execution contexts succeeded." in done.stdout


def test_another_sink_gets_every_verdict_and_the_run_succeeds(small_disk: Path, tmp_path: Path) -> None:
    other = f'[output.other.sqlite]\npath = "{tmp_path}/other.db"\n'
    file = configuration_file(tmp_path, write_jobs(tmp_path, JOBS), other)
    file.write_text(file.read_text().replace(f"{tmp_path}/v.db", f"{small_disk}/v.db"))
    done = run(file)
    assert f"Attribution complete: {JOBS}/{JOBS} execution contexts succeeded." in done.stdout
    assert "output db: " in done.stderr
    assert runs_in(tmp_path / "other.db") == JOBS


def test_a_disk_that_is_full_from_the_start_fails_the_run(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (390 << 10))
    file = configuration_file(tmp_path, write_jobs(tmp_path, 2))
    file.write_text(file.read_text().replace(f"{tmp_path}/v.db", f"{small_disk}/v.db"))
    done = run(file)
    assert done.returncode == 1
    assert "Attribution complete: 0/2 execution contexts succeeded." in done.stdout


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
sys.path[:0] = [sys.argv[2]]
from conformance_kit import verdict
from attribution_blueprint.connectors.output.sqlite import SqliteSettings, SqliteSink
from attribution_blueprint.errors import OutputError
sink, one, written = SqliteSink("db", SqliteSettings(path=sys.argv[1])), verdict(), 0
try:
    for number in range(1000):
        sink.write(one.model_copy(update={"run_id": f"run-{number}"}))
        written += 1
except OutputError as error:
    print(written, error)
"""


def test_a_file_that_may_not_grow_is_told_and_keeps_what_it_has(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = [sys.executable, "-c", LIMITED, str(tmp_path / "v.db"), str(request.path.parents[1])]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 -- ours
    written, _, reason = done.stdout.partition(" ")
    assert reason.startswith(f"output db: {tmp_path}/v.db: ")
    assert runs_in(tmp_path / "v.db") == int(written) > 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("run", "--connector", "eca", "static", "job_id", "1", "--connector", "attribution", "data"), 1),
        (("fleet", "start", "--connector", "eca", "static", "job_id", "1", "--connector", "attribution", "data"), 2),
        (("fleet", "status", "--data"), 2),
        (("replay", "--data"), 2),
        (("serve", "--port", "0", "--data"), 2),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_store_on_a_full_disk_is_refused_with_its_folder(
    small_disk: Path, words: tuple[str, ...], status: int
) -> None:
    (small_disk / "filler").write_bytes(b"x" * (390 << 10))
    (small_disk / "store").mkdir()
    command = [sys.executable, "-m", "attribution_cli", *words, str(small_disk / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 -- ours
    output = done.stdout + done.stderr
    assert done.returncode == status, output
    assert f"data {small_disk}/store: " in output
    assert "expected a folder that can be written" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    "words",
    [("fleet", "status"), ("replay",), ("release", "show"), ("serve", "--port", "0")],
    ids=lambda words: words[0],
)
def test_a_store_that_may_not_be_made_is_refused_with_its_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("in the way")
    command = [sys.executable, "-m", "attribution_cli", *words]
    home = {**os.environ, "HOME": str(tmp_path / "file"), "XDG_DATA_HOME": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=home)  # noqa: S603 -- ours
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"--data {tmp_path}/file/")
    assert "Not a directory; expected a folder that can be written" in done.stderr
