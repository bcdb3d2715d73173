"""``attribution explain``: what cannot be used is refused by name and costs only itself."""

from __future__ import annotations

import errno
import gzip
import json
import os
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint import evidence_files
from attribution_blueprint.local import LocalAttribution, attribute_evidence
from explain_kit import OOM, engine_of, explain, verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_blueprint.case_files import Evidence
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict


def complaint(*arguments: object, status: int = 2) -> str:
    result = explain(*arguments)
    assert result.exit_code == status
    return result.stderr


def test_a_bad_path_costs_only_itself(case: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = verdicts("empty", case, "missing.log", status=2)
    assert [row["case"] for row in found] == [str(case), "missing.log"]
    assert found[1]["connector_reports"][0]["status"] == "error"


def test_unread_files_are_named_with_what_to_give_instead(case: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "logs.zip").write_bytes(b"PK\x03\x04....")
    os.mkfifo(tmp_path / "pipe")
    (case / "notes.txt").touch()
    (case / "scheduler.log").mkdir()
    assert "empty: no job.toml; expected a case folder" in complaint("empty")
    assert "dangling: cannot be read (No such file or directory)" in complaint("dangling")
    assert "logs.zip: is a ZIP archive; expected a log" in complaint("logs.zip")
    assert "pipe: is a pipe that nobody writes to" in complaint("pipe")
    assert "/dev/zero: is a device" in complaint("/dev/zero")
    assert "cannot be read (File name too long)" in complaint("a" * 5000)
    assert "'': cannot be read" in complaint("")
    assert f"{case}/scheduler.log: is a folder; expected a file" in complaint(case)
    assert f"{case}/notes.txt: not read" in complaint(case)


def test_what_holds_no_lines_is_refused_with_how_to_get_them(tmp_path: Path) -> None:
    streams = [{"stream": {"host": "n1"}, "values": [["1780283641000000000", OOM]]}]
    answer = {"status": "success", "data": {"resultType": "streams", "result": streams}}
    for indent in (None, 2):
        (tmp_path / "loki.json").write_text(json.dumps(answer, indent=indent))
        assert "loki.json: is an answer of Loki in one piece; expected a log line per line" in complaint("loki.json")
    (tmp_path / "core.log").write_bytes(bytes(range(256)) * 300)
    assert "core.log: is binary data; expected a log" in complaint("core.log")


@pytest.mark.parametrize(
    "content",
    [bytes(100_000) + OOM.encode(), OOM.encode("utf-16"), f"\x1b[31m{OOM}\x1b[0m\r\n\x07".encode(), b"\xff" * 99],
    ids=["NULs after a crash", "UTF-16", "colours", "another encoding"],
)
def test_odd_text_is_still_a_log(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.log").write_bytes(content)
    assert complaint("odd.log", status=0) == ""


def test_a_file_beyond_the_limit_is_refused_with_the_limit(log: Path, tmp_path: Path) -> None:
    assert evidence_files.read_file(str(log), limit=50).problem.startswith("holds more than 50 bytes; expected at most")
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(bytes(10_000)))
    assert "expected at most 5000 bytes" in evidence_files.read_file(str(packed), limit=5_000).problem
    with log.open("rb") as stream:
        assert evidence_files.read_stream(stream, limit=50).data == b""


def test_a_folder_that_cannot_be_listed_costs_only_itself(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()

    def iterdir(path: Path) -> object:
        if path == locked:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    listed = type(locked).iterdir
    monkeypatch.setattr(type(locked), "iterdir", iterdir)
    result = explain("--json", locked, case)
    assert result.exit_code == 2
    assert f"{locked}: cannot be listed (Permission denied)" in result.stderr
    assert json.loads(result.stdout)["case"] == str(case)


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ("job_id = 4711", "job.toml:1: job.job_id: int given; expected a string"),
        ('job_id = "a"\nnodez = 1', "job.toml:2: job.nodez: unknown key; expected one of job_id"),
        ('job_id = "a"\n\n[[ranks]]\nrank = 0\n[[ranks]]\nrank = -1', "job.toml:6: job.ranks[1].rank: "),
        ('job_id = "a"\n[labels]\nx = "y"\nteam = 7', "job.toml:4: job.labels.team: "),
        ('job_id = "a"\nranks = [\n  { rank = 0 },\n  { rank = -1 },\n]', "job.toml:4: job.ranks[1].rank: "),
        (
            'job_id = "a"\nstart = 2026-07-01T09:00:00\nend = 2026-07-01T08:00:00Z',
            "toml:3: job.end: before job.start",
        ),
        ('nodes = "node[1-999999999]"', "job.nodes: host list names 999999999 nodes; at most 20000"),
        ("", "job.job_id: missing; expected a job id, or nodes\n"),
        ("job_id = ", "is not TOML: Invalid value (at end of document)"),
        ('job_id = "a"\nx = ' + "[" * 100_000, "is nested too deeply"),
        ("a." * 50_000 + "b = 1", "holds a key of a hundred parts"),
        ('"\\u001b[2J" = 1', "job.\\x1b[2J: unknown key"),
    ],
)
def test_a_bad_job_file_is_refused_by_key(case: Path, job: str, says: str) -> None:
    (case / "job.toml").write_text(job, encoding="utf-8")
    message = complaint(case)
    assert message.startswith(f"{case}/job.toml:")
    assert says in message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--start", "09:00", "--nodes", "n[1-"], "--nodes: malformed host list: unbalanced brackets"),
        (["--start", "09:00", "--nodes", "n[1-"], "--start: '09:00' is no RFC 3339 date-time"),
        (["--start", "2026-07-01T09:00:00Z", "--end", "2026-07-01T08:00:00Z"], "--end: before job.start"),
        (["--nodes", " , "], "--nodes: names no node; expected"),
        (["--nodes", "<script>"], "--nodes: '<script>' is no node name"),
        (["--start", "yesterday"], "--start: 'yesterday' is no RFC 3339 date-time; expected as in"),
        (["--job", "4711"], "expected a readable file; with PATHs, --job is a job.toml: for a job's id say --job-id"),
        (["--job", "nope.toml"], "--job nope.toml: cannot be read (No such file"),
        (["--job", "job.toml", "--nodes", "a"], "--job job.toml: given together with --nodes"),
        (["--timezone", "Mars"], "--timezone: 'Mars' is no time zone; expected an IANA name"),
        (["--source", "node_metrics"], "is not JSON (Expecting value"),
        (["--rules", "nope"], "expected a folder of rule files"),
        (["--rules", "."], "holds no rule; expected a folder of .toml and .py rule files"),
        (["--json", "--table"], "--json, --table: expected one of them"),
    ],
)
def test_bad_options_are_named_as_they_were_typed(log: Path, options: list[str], says: str) -> None:
    assert says in complaint(log, *options)


def test_options_of_loose_files_are_not_ignored_in_silence(case: Path) -> None:
    result = explain("--json", case, "--state", "COMPLETED", "--source", "syslog")
    assert result.exit_code == 2
    assert "--source, --state: only for loose files" in result.stderr
    assert json.loads(result.stdout)["job"]["state"] == "FAILED"


def test_a_defect_met_in_one_case_does_not_cost_the_others(case: Path) -> None:
    calls: list[int] = []

    def first_one_breaks(evidence: Evidence, engine: RuleEngine) -> EnrichedVerdict:
        calls.append(1)
        if len(calls) == 1:
            msg = "boom"
            raise TypeError(msg)
        return attribute_evidence(evidence, engine)

    result = explain("--json", case, f"{case}/", parts=LocalAttribution(engine_of, first_one_breaks))
    assert result.exit_code == 2
    assert f"{case}: no verdict: a defect of this program, please report it: TypeError('boom')" in result.stderr
    assert json.loads(result.stdout)["case"] == f"{case}/"


def test_rows_of_a_table_survive_ctrl_c(case: Path) -> None:
    calls: list[int] = []

    def interrupted(evidence: Evidence, engine: RuleEngine) -> EnrichedVerdict:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return attribute_evidence(evidence, engine)

    result = explain("--table", case, f"{case}/", parts=LocalAttribution(engine_of, interrupted))
    assert result.exit_code == 1
    assert "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS" in result.stdout
