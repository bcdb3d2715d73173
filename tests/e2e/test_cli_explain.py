"""``attribution explain`` as people use and misuse it."""

from __future__ import annotations

import bz2
import errno
import functools
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from click.testing import CliRunner

from attribution_blueprint import evidence_files, local
from attribution_blueprint.cache import cache_folder
from attribution_cli import explain as explain_module
from attribution_cli.main import main
from sample_cases import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

XID = "Jul  1 09:02:41 node07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB."
WATCHDOG = (
    "[rank3]:[E701 09:12:55.100000000 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=48112, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds "
    "before timing out."
)
KEYS = {
    *("case", "schema_version", "job", "outcome", "outcomes", "confidence", "failed", "root_cause", "alternatives"),
    *("needed_evidence", "bad_nodes", "bad_nodes_total", "interesting_nodes", "symptoms", "chain", "collections"),
    *("notes", "evidence", "based_on", "diagnostics", "engine", "attributor_id", "run_id", "attributed_at"),
    *("terminal_state", "sub_domain", "connector_reports", "ingestion_reports", "evidence_status", "history"),
}


engine_of = functools.cache(local.load_engine)
"""Loading the rules takes a second; no test changes them."""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explain_module, "load_engine", engine_of)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.out"
    path.write_text(f"step 1\n{OOM}\n", encoding="utf-8")
    return path


@pytest.fixture
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    window = "start = 2026-07-01T08:00:00Z\nend = 2026-07-01T10:00:00Z\n"
    job = f'job_id = "4711"\nnodes = ["node07"]\nstate = "FAILED"\n{window}'
    (folder / "job.toml").write_text(job, encoding="utf-8")
    (folder / "applog.log").write_text(f"{WATCHDOG}\n", encoding="utf-8")
    (folder / "syslog.log").write_text(f"{XID}\n", encoding="utf-8")
    return folder


def explain(*arguments: object, stdin: str | bytes | None = None, columns: int = 100) -> Result:
    return CliRunner().invoke(
        main, ["explain", *map(str, arguments)], input=stdin, env={"COLUMNS": str(columns)}, catch_exceptions=False
    )


def verdicts(*arguments: object, status: int = 0, stdin: str | bytes | None = None) -> list[dict[str, Any]]:
    result = explain("--json", *arguments, stdin=stdin)
    assert result.exit_code == status, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def verdict(*arguments: object, status: int = 0, stdin: str | bytes | None = None) -> dict[str, Any]:
    (found,) = verdicts(*arguments, status=status, stdin=stdin)
    return found


# --- what a verdict looks like --------------------------------------------------------------------------------------

PAGE = """\
╭─ case ───────────────────────────────────────────────────────────────────────────────────────────╮
│ FAIL · hardware · XID-79-GPU_HAS_FALLEN_OFF_THE_BUS (confidence high)                            │
│ Whose problem: a physical part                                                                   │
│ job 4711, state FAILED, 1 node                                                                   │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
Root evidence  syslog.log:1  rule XID (rules/xid.toml:LINE)
  Jul  1 09:02:41 node07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off
  the bus.
  2026-07-01T09:02:41.000000Z · node node07 · device 0000:3b:00 · vendor: RESTART_BM
  (what the catalog says)
Bad nodes
  node07  bears the root symptom: XID-79-GPU_HAS_FALLEN_OFF_THE_BUS, 1 fault event there in all
What happened, in time order
when (UTC)           where   symptom
2026-07-01T09:02:41  node07  ● XID-79-GPU_HAS_FALLEN_OFF_THE_BUS
2026-07-01T09:12:55  rank 3    NCCL watchdog collective timeout  ← explained by
                             XID-79-GPU_HAS_FALLEN_OFF_THE_BUS
no time                        Scheduler state FAILED
Evidence complete: applog.log (1 line, applog), syslog.log (1 line, syslog)
"""


def test_a_verdict_is_one_page(case: Path) -> None:
    result = explain(case.name, columns=100)
    assert result.exit_code == 0
    page = "\n".join(line.rstrip() for line in result.stdout.splitlines()) + "\n"
    page = re.sub(r"xid\.toml:\d+", "xid.toml:LINE", page)
    assert re.sub(r"(?<=RESTART_BM\n).*?(?=Bad nodes)", "  (what the catalog says)\n", page, flags=re.DOTALL) == PAGE


def test_json_has_the_contracts_keys_and_says_where_the_root_line_stands(case: Path) -> None:
    found = verdict(case)
    assert set(found) == KEYS
    assert found["case"] == str(case)
    assert (found["attributor_id"], found["run_id"], found["attributed_at"]) == ("default:4711:0", "local", None)
    assert (found["ingestion_reports"], found["history"]) == ([], {})
    root = found["root_cause"]
    assert (root["source"], root["stream"], root["line_num"]) == ("syslog", "syslog.log", 1)


def test_one_line_a_path_in_the_order_given(case: Path, log: Path) -> None:
    found = verdicts(case, log, f"{case}/", case)
    assert [row["case"] for row in found] == [str(case), str(log), f"{case}/", str(case)]


def test_all_loose_files_are_one_job_named_after_the_first(log: Path, tmp_path: Path) -> None:
    (tmp_path / "syslog-node07.txt").write_text(XID + "\n", encoding="utf-8")
    found = verdict(log, "syslog-node07.txt", "--job-id", "12", "--nodes", "node[01-16]", "--state", "FAILED")
    assert found["case"] == str(log)
    assert found["job"]["job_id"] == "12"
    reports = [(row["connector"], row["instance"], row["source"], row["lines"]) for row in found["connector_reports"]]
    assert reports == [("file", str(log), "applog", 2), ("file", "syslog-node07.txt", "syslog", 1)]


def test_evidence_status_tells_whether_all_was_read(case: Path, tmp_path: Path) -> None:
    assert verdict(case)["evidence_status"] == "complete"
    (case / "scheduler.log").mkdir()
    assert verdict(case, status=2)["evidence_status"] == "partial"
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "job.toml").write_text('nodes = ["node07"]', encoding="utf-8")
    assert verdict(bare)["evidence_status"] == "none"


def test_a_table_has_a_row_a_path_and_tells_equal_names_apart(case: Path, tmp_path: Path) -> None:
    twin = tmp_path / "b" / "case"
    twin.parent.mkdir()
    case.rename(twin)
    case.mkdir()
    (case / "job.toml").write_text('job_id = "1"', encoding="utf-8")
    rows = explain("--table", "case", "b/case").stdout.splitlines()
    assert [row.split()[0] for row in rows[1:]] == ["case", "b/case"]


@pytest.mark.parametrize("columns", [0, 5, 40])
def test_a_narrow_terminal_still_shows_the_verdict(case: Path, columns: int) -> None:
    page = explain(case, columns=columns).stdout
    assert "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS" in page
    assert "2026-07-01T09:02:41  node07\n" in page


def test_the_page_says_what_could_not_count(log: Path) -> None:
    log.write_text(f"2026-07-01 08:00:00 {OOM}\n{'x' * 2_000_000}\n", encoding="utf-8")
    page = explain(log, "--start", "2026-07-02T00:00:00Z").stdout
    assert re.search(r"\d events? outside the job's time window left out", page)
    assert "1 line longer than 1 MiB cut" in page


# --- what people give it --------------------------------------------------------------------------------------------


def test_standard_input_is_read_by_a_dash() -> None:
    found = verdict("-", "--source", "syslog", stdin=XID)
    assert found["case"] == "-"
    assert found["root_cause"]["symptom"] == "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_compressed_logs_are_read(case: Path, tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack((case / "syslog.log").read_bytes())
    loose = tmp_path / f"syslog.1{suffix}"
    loose.write_bytes(packed)
    (case / "syslog.log").unlink()
    (case / f"syslog.log{suffix}").write_bytes(packed)
    for found in verdicts(case, loose):
        assert found["root_cause"]["symptom"] == "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"
        assert found["evidence_status"] == "complete"


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, functools.partial(bz2.compress, compresslevel=1), lzma.compress, zstandard.compress],
    ids=["gzip", "bzip2", "xz", "zstd"],
)
def test_of_a_compressed_log_that_is_cut_off_the_readable_part_counts(
    log: Path, pack: Callable[[bytes], bytes]
) -> None:
    noise = b"".join(b"%d\n" % (number * 7919 % 1_000_003) for number in range(60_000))
    packed = pack(log.read_bytes() + noise)
    log.write_bytes(packed[: len(packed) * 3 // 4])
    found = verdict(log, status=2)
    assert found["root_cause"]["symptom"] == "CUDA out of memory"
    assert found["evidence_status"] == "partial"
    assert "cut off" in found["connector_reports"][0]["reason"]


def test_a_plain_file_goes_before_its_compressed_twin(case: Path) -> None:
    (case / "syslog.log.gz").write_bytes(gzip.compress(b"other\n"))
    result = explain("--json", case)
    assert result.exit_code == 0
    assert [row["instance"] for row in json.loads(result.stdout)["connector_reports"]] == ["applog.log", "syslog.log"]
    assert f"{case}/syslog.log.gz: not read" in result.stderr


def test_a_file_given_twice_counts_once(log: Path) -> None:
    result = explain("--json", log, f"./{log.name}", log)
    (found,) = map(json.loads, result.stdout.splitlines())
    assert len(found["connector_reports"]) == 1
    assert f"./{log.name}: given twice; read once" in result.stderr


def test_a_pipe_with_a_writer_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(f"{OOM}\n", encoding="utf-8"))  # waits for a reader
    writer.start()
    assert verdict(pipe)["root_cause"]["symptom"] == "CUDA out of memory"
    writer.join()


def test_a_job_file_may_come_from_windows(log: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes(b'\xef\xbb\xbfjob_id = "7"\r\nstate = "FAILED"\r\n')
    assert verdict(log, "--job", "job.toml")["job"]["job_id"] == "7"


def test_times_without_an_offset_are_read_in_the_given_time_zone(log: Path) -> None:
    job = verdict(log, "--start", "2026-07-01 09:00", "--timezone", "Europe/Berlin")["job"]
    assert job["start"] == "2026-07-01T07:00:00.000000Z"


def test_node_names_may_be_separated_by_blanks_and_line_ends(log: Path) -> None:
    assert verdict(log, "--nodes", "node01 node[02-03, 05]\nx1")["job"]["nodes"] == [
        "node01",
        "node02",
        "node03",
        "node05",
        "x1",
    ]


# --- what cannot be used --------------------------------------------------------------------------------------------


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


def test_a_file_beyond_the_limit_is_refused_with_the_limit(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evidence_files.read_file(str(log), limit=50).problem.startswith("holds more than 50 bytes; expected at most")
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(bytes(10_000)))
    assert "expected at most 5000 bytes" in evidence_files.read_file(str(packed), limit=5_000).problem
    monkeypatch.setattr(evidence_files, "MAX_BYTES", 1)
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
        ("job_id = 4711", "job.job_id: int given; expected a string"),
        ('job_id = "a"\nnodez = 1', "job.nodez: unknown key; expected one of job_id"),
        ('job_id = "a"\nstart = 2026-07-01T09:00:00\nend = 2026-07-01T08:00:00Z', "job.end: before job.start"),
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
    assert message.startswith(f"{case}/job.toml: ")
    assert says in message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--start", "09:00", "--nodes", "n[1-"], "--nodes: malformed host list: unbalanced brackets"),
        (["--start", "09:00", "--nodes", "n[1-"], "--start: '09:00' is no RFC 3339 date-time"),
        (["--start", "2026-07-01T09:00:00Z", "--end", "2026-07-01T08:00:00Z"], "--end: before job.start"),
        (["--nodes", " , "], "--nodes: names no node; expected"),
        (["--nodes", "<script>"], "--nodes: '<script>' is no node name"),
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


def test_a_defect_met_in_one_case_does_not_cost_the_others(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explain_module.attribute_evidence
    calls: list[int] = []

    def first_one_breaks(*arguments: Any) -> object:
        calls.append(1)
        if len(calls) == 1:
            msg = "boom"
            raise TypeError(msg)
        return whole(*arguments)

    monkeypatch.setattr(explain_module, "attribute_evidence", first_one_breaks)
    result = explain("--json", case, f"{case}/")
    assert result.exit_code == 2
    assert f"{case}: no verdict: a defect of this program, please report it: TypeError('boom')" in result.stderr
    assert json.loads(result.stdout)["case"] == f"{case}/"


def test_rows_of_a_table_survive_ctrl_c(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explain_module.attribute_evidence
    calls: list[int] = []

    def interrupted(*arguments: Any) -> object:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(explain_module, "attribute_evidence", interrupted)
    result = explain("--table", case, f"{case}/")
    assert result.exit_code == 1
    assert "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS" in result.stdout


# --- what a terminal gets -------------------------------------------------------------------------------------------

HOSTILE = (
    f"\x1b]0;title\x07\x1b[2J{OOM} \u202eevil\u202c <script>alert(1)</script> [bold red]no markup[/] \x9b31m :smiley:\n"
)
INTERPRETED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("form", [[], ["--json"], ["--table"]])
def test_nothing_in_a_log_or_a_name_is_interpreted(tmp_path: Path, form: list[str]) -> None:
    path = tmp_path / "evil\n\x1b[31m\u202e.log"
    path.write_text(HOSTILE, encoding="utf-8")
    result = explain(*form, path, "missing\n\x1b[31m")
    assert not INTERPRETED.search(result.stdout)
    assert not INTERPRETED.search(result.stderr)
    if form == ["--json"]:
        found = json.loads(result.stdout)
        assert found["case"] == str(path)
        assert "\u202eevil\u202c" in found["root_cause"]["evidence"]
    elif not form:
        assert "[bold red]no markup[/]" in result.stdout
        assert ":smiley:" in result.stdout


def test_a_name_that_is_no_unicode_comes_back_as_it_was(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.log")
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 -- a name that Path shows the same way
        file.write(OOM)
    found = verdict(path)
    assert found["case"] == path
    assert found["root_cause"]["stream"].endswith("/caf\\xe9.log")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "attribution_cli", "explain", *arguments]
    paths = os.pathsep.join(str(ROOT / "layers" / part) for part in ("engine", "blueprint"))
    given = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run(command, env=given, capture_output=True, check=False, timeout=120)  # noqa: S603 -- ourselves


def test_a_locale_without_unicode_gets_plain_words(case: Path) -> None:
    done = run(str(case), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, b"")
    page = done.stdout.decode("ascii")
    assert "FAIL - hardware - XID-79" in page
    assert "<- explained by" in page


def test_output_that_cannot_be_written_ends_without_a_traceback(case: Path) -> None:
    command = f"{sys.executable} -m attribution_cli explain {case} > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, check=False, timeout=120)  # noqa: S602 -- the shell redirects
    assert (done.returncode, done.stderr) == (1, b"the output was not written: No space left on device\n")


def test_a_user_without_a_home_or_with_a_strange_cache_gets_a_verdict(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_module, "load_engine", local.load_engine)
    for folder in ("/dev/null", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        assert explain(case).exit_code == 0
    assert not (tmp_path / "relative").exists()
    monkeypatch.delenv("XDG_CACHE_HOME")

    def no_home() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr("pathlib.Path.home", no_home)
    assert not cache_folder().parent.is_dir()
    assert explain(case).exit_code == 0


def test_two_at_once_share_an_empty_cache(case: Path, tmp_path: Path) -> None:
    found: list[subprocess.CompletedProcess[bytes]] = []
    place = str(tmp_path / "cache")
    threads = [
        threading.Thread(target=lambda: found.append(run("--json", str(case), XDG_CACHE_HOME=place))) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done.returncode for done in found] == [0, 0]
    assert found[0].stdout == found[1].stdout


# --- the rules commands take the same -------------------------------------------------------------------------------


def rules(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, arguments)], catch_exceptions=False)


def test_match_shows_lines_and_never_sends_them(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(HOSTILE, encoding="utf-8")
    for form in ([], ["--json"]):
        result = rules("match", path, *form)
        assert result.exit_code == 0
        assert not INTERPRETED.search(result.stdout)


def test_a_rules_folder_that_cannot_be_used_is_refused_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "a.toml").symlink_to("nowhere")
    (folder / "b.py").write_text("raise SystemExit(5)\n", encoding="utf-8")
    (folder / "c.toml").write_text("x = " + "[" * 100_000, encoding="utf-8")
    (folder / "d.toml").write_text("x = [", encoding="utf-8")
    result = rules("list", "--rules", folder)
    assert result.exit_code == 3
    assert "rules/a.toml:1: cannot be read: No such file" in result.stderr
    assert "rules/b.py:1: cannot be executed: SystemExit: 5" in result.stderr
    assert "rules/c.toml:1: is nested too deeply" in result.stderr
    assert "rules/d.toml:1: is not TOML" in result.stderr


def test_a_new_rule_needs_a_line_and_a_folder(tmp_path: Path) -> None:
    for arguments, says in (
        (["--from-line", " "], "--from-line: empty"),
        (["--from-line", "it broke", "--into", tmp_path / "none" / "a.toml"], "there is no folder"),
    ):
        result = rules("new", "X", *arguments)
        assert result.exit_code == 2
        assert says in result.stderr


def test_samples_that_nobody_has_are_no_success() -> None:
    assert rules("test", "nothing-is-called-this").exit_code == 1
