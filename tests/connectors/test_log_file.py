"""The file collector: where Slurm puts output, rotated, compressed, growing, missing."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.log.file import FileLog, FileLogSettings
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.observation import Observation

JOB: dict[str, Any] = {
    "job_id": "4711",
    "name": "train",
    "user": "kim",
    "nodes": ["gpu-0001", "gpu-0002"],
    "state": "FAILED",
    "start": "2026-06-02T20:00:00Z",
    "end": "2026-06-02T21:00:00Z",
}


def context(*places: str, workdir: str = "", **job: Any) -> ExecutionContext:
    files = tuple(EvidencePlace(PlaceKind.FILE, place) for place in places)
    return ExecutionContext.of({**JOB, **job}, adapter="test", places=files, workdir=workdir)


def collect(found: ExecutionContext, **settings: Any) -> list[Observation]:
    return list(FileLog("app", FileLogSettings(**settings)).collect(found, Budget.of(30)))


def failing(found: ExecutionContext, **settings: Any) -> tuple[list[Observation], str]:
    got: list[Observation] = []
    with pytest.raises(CollectError) as refused:
        got.extend(FileLog("app", FileLogSettings(**settings)).collect(found, Budget.of(30)))
    return got, str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("slurm-%j.out", "slurm-4711.out"),
        ("%x-%u.%A", "train-kim.4711"),
        ("%8j.log", "00004711.log"),
        ("100%%.log", "100%.log"),
        ("plain[1].log", "plain[1].log"),
        ("%J.out", "4711.0.out"),
    ],
)
def test_slurm_patterns_find_the_output_of_the_job(pattern: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("hello\n")
    (tmp_path / "slurm-4712.out").write_text("another job\n")
    (found,) = collect(context(pattern, workdir=str(tmp_path)))
    assert (found.stream, found.text) == (str(tmp_path / name), b"hello\n")


def test_node_and_task_in_a_pattern_are_read_from_the_name(tmp_path: Path) -> None:
    for node in ("gpu-0001", "gpu-0002", "gpu-0099"):
        for task in (0, 1):
            (tmp_path / f"4711-{node}-{task}.log").write_text(f"{node} {task}\n")
    found = collect(context(f"{tmp_path}/%j-%N-%t.log"))
    assert [(one.node, one.rank) for one in found] == [
        ("gpu-0001", 0),
        ("gpu-0001", 1),
        ("gpu-0002", 0),
        ("gpu-0002", 1),
    ]


def test_array_tasks_have_their_number_and_their_own_job_id(tmp_path: Path) -> None:
    (tmp_path / "4711_3-5000.out").write_text("x\n")
    found = context(f"{tmp_path}/%A_%a-%j.out", job_id="4711_3", labels={"slurm_job_id": "5000"})
    assert len(collect(found)) == 1


def test_given_paths_take_wildcards_and_only_the_jobs_nodes(tmp_path: Path) -> None:
    for node in ("gpu-0001", "gpu-0002", "gpu-0003"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "syslog").write_text(f"{node}\n")
    found = collect(context(), source="syslog", paths=(f"{tmp_path}/%N/sys*",))
    assert [(one.node, one.source) for one in found] == [("gpu-0001", Source.SYSLOG), ("gpu-0002", Source.SYSLOG)]
    assert FileLog("a", FileLogSettings(paths=(f"{tmp_path}/nothing*",))).plan(context()) == [
        f"{tmp_path}/nothing* (nothing there)"
    ]


def test_rotated_files_come_first_and_those_before_the_window_are_left_out(tmp_path: Path) -> None:
    compressors = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    compressors[".zst"] = zstandard.ZstdCompressor().compress
    for number, (suffix, compress) in enumerate(compressors.items(), 1):
        path = tmp_path / f"syslog.{number}{suffix}"
        path.write_bytes(compress(f"part {number}\n".encode()))
    old = tmp_path / "syslog.9.gz"
    old.write_bytes(gzip.compress(b"long ago\n"))
    os.utime(old, (1_600_000_000, 1_600_000_000))
    for path in tmp_path.glob("syslog.[1-5]*"):
        os.utime(path, (1_780_430_400, 1_780_430_400))  # 2026-06-02T20:00Z
    (tmp_path / "syslog").write_text("now\n")
    (tmp_path / "syslog-ng.conf").write_text("no log\n")
    found = collect(context(), source="syslog", paths=(f"{tmp_path}/syslog",))
    assert [one.text for one in found] == [b"part 5\n", b"part 4\n", b"part 3\n", b"part 2\n", b"part 1\n", b"now\n"]


def test_dated_rotations_are_in_order_of_their_dates(tmp_path: Path) -> None:
    for date in ("20260603", "20260601", "20260602"):
        (tmp_path / f"messages-{date}").write_text(date)
        os.utime(tmp_path / f"messages-{date}", (1_790_000_000, 1_790_000_000))
    found = collect(context(), source="syslog", paths=(f"{tmp_path}/messages",))
    assert [one.text for one in found] == [b"20260601", b"20260602", b"20260603"]


def test_long_files_come_in_batches_of_whole_lines_with_their_line_numbers(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(1, 50_001)]
    (tmp_path / "a.log").write_text("".join(lines))
    found = collect(context(f"{tmp_path}/a.log"), batch_bytes=50_000)
    assert len(found) > 5
    assert b"".join(one.text for one in found) == "".join(lines).encode()
    assert all(one.text.startswith(b"line %d\n" % one.first_line) for one in found)


def test_what_is_appended_while_reading_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 99 + b"\n")
    reading = FileLog("app", FileLogSettings(batch_bytes=10_000)).collect(context(str(path)), Budget.of(30))
    path.write_bytes(path.read_bytes() + b"unfinished")
    texts = []
    for one in reading:
        texts.append(one.text)
        with path.open("ab") as file:
            file.write(b"more\n" * 1000)
    assert b"".join(texts) == b"x" * 99 + b"\nunfinished"


def test_a_missing_output_file_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text("here\n")
    got, reason = failing(context(f"{tmp_path}/a.log", f"{tmp_path}/b.log"))
    assert [one.text for one in got] == [b"here\n"]
    assert f"{tmp_path}/a.log: is not there" in reason
    assert len(collect(context(f"{tmp_path}/a.log", f"{tmp_path}/b.log"), missing_ok=True)) == 1


def test_a_damaged_archive_is_told_after_what_could_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(os.urandom(3_000_000).hex().encode())[:-100_000])
    got, reason = failing(context(str(path)), batch_bytes=1_000)
    assert "damaged or cut off" in reason
    assert isinstance(got, list)


def test_a_relative_path_without_a_working_directory_is_told() -> None:
    _, reason = failing(context("slurm-%j.out"))
    assert "working directory is not known" in reason


def test_output_to_nowhere_is_no_error() -> None:
    assert collect(context("/dev/null", "")) == []


def test_collecting_ends_with_its_time(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n" * 10)
    with pytest.raises(CollectError, match="timeout_seconds is over"):
        list(FileLog("app", FileLogSettings()).collect(context(f"{tmp_path}/a.log"), Budget.of(0)))
