"""``attribution explain``: what a verdict looks like, and what people give it."""

from __future__ import annotations

import bz2
import functools
import gzip
import json
import lzma
import os
import re
import threading
from typing import TYPE_CHECKING

import pytest
import zstandard

from explain_kit import KEYS, OOM, XID, explain, verdict, verdicts
from rules_kit import extractor, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


PAGE = """\
╭─ case ───────────────────────────────────────────────────────────────────────────────────────────╮
│ FAIL · hardware · XID-79-GPU_HAS_FALLEN_OFF_THE_BUS (confidence high)                            │
│ Whose problem: a physical part                                                                   │
│ job 4711, state FAILED, 1 node                                                                   │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
Root evidence  syslog.log:1  rule XID (rules/xid.toml:LINE)
  Jul  1 09:02:41 node07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off
  the bus.
  2026-07-01T09:02:41.000000Z · node node07 · device 0000:3b:00 · vendor: RESTART_BM (restart the
  machine itself, not a VM alone)
  (what the catalog says)
Bad nodes
  node07  bears the root symptom: XID-79-GPU_HAS_FALLEN_OFF_THE_BUS, 1 fault event there in all
What happened, in time order
when (UTC)           where   symptom
2026-07-01T09:02:41  node07  ● XID-79-GPU_HAS_FALLEN_OFF_THE_BUS
2026-07-01T09:12:55  rank 3    NCCL watchdog collective timeout  ← explained by
                             XID-79-GPU_HAS_FALLEN_OFF_THE_BUS
no time                        Scheduler state FAILED
All that was given was read: applog.log (1 line, applog), syslog.log (1 line, syslog)
"""


def test_a_verdict_is_one_page(case: Path) -> None:
    result = explain(case.name, columns=100)
    assert result.exit_code == 0
    page = "\n".join(line.rstrip() for line in result.stdout.splitlines()) + "\n"
    page = re.sub(r"xid\.toml:\d+", "xid.toml:LINE", page)
    assert re.sub(r"(?<=VM alone\)\n).*?(?=Bad nodes)", "  (what the catalog says)\n", page, flags=re.DOTALL) == PAGE


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


@pytest.mark.parametrize("columns", [72, 80, 100])
def test_names_of_symptoms_are_not_broken_in_the_story(tmp_path: Path, columns: int) -> None:
    sxid = "nvidia-nvswitch1: SXid (PCI:0000:ab:00.0): 24007, Severity 1 Engine instance 12 Sub-engine instance 00"
    (tmp_path / "syslog.log").write_text(f"Jul  1 09:02:40 node07 kernel: {sxid}\n{XID}\n")
    page = explain("syslog.log", "--nodes", "node07,node08", columns=columns).stdout
    story = page.partition("What happened")[2].partition("All that")[0]
    assert "SXID-24007-NPORT_SOURCETRACK_SOURCETRACK_TIME_OUT_ERR" in story


def test_the_schedulers_state_is_told_once(log: Path) -> None:
    for state in ("TIMEOUT", "PREEMPTED", "CANCELLED by 1000", "NODE_FAIL", "OUT_OF_MEMORY"):
        found = verdict(log, "--state", state)
        symptoms = [row["symptom"] for row in found["chain"]]
        assert len(symptoms) == len(set(symptoms))


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
    reports = json.loads(result.stdout)["connector_reports"]
    assert [row["instance"] for row in reports if row["status"] == "ok"] == ["applog.log", "syslog.log"]
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


@pytest.mark.parametrize("printed", ["NODE07", "Node07.cluster.example.com", "node07"])
def test_a_host_name_in_another_case_is_the_same_node(printed: str, tmp_path: Path) -> None:
    (tmp_path / "syslog.log").write_text(XID.replace("node07", printed) + "\n")
    found = verdicts("syslog.log", "--nodes", "node[07-08]", "--state", "FAILED")[0]
    assert [node["node"] for node in found["bad_nodes"]] == ["node07"]


def test_nodes_that_differ_by_case_alone_stay_two(tmp_path: Path) -> None:
    (tmp_path / "syslog.log").write_text(XID.replace("node07", "NODE07") + "\n")
    found = verdicts("syslog.log", "--nodes", "node07,NODE07", "--state", "FAILED")[0]
    assert [node["node"] for node in found["bad_nodes"]] == ["NODE07"]


def test_the_page_says_which_step_is_of_a_node_outside_the_job(tmp_path: Path) -> None:
    (tmp_path / "syslog.log").write_text(XID + "\n")
    options = ["syslog.log", "--state", "FAILED", "--nodes"]
    assert "(not a node of this job)" in explain(*options, "node12").stdout
    assert "(not a node of this job)" not in explain(*options, "node07,node12").stdout


def test_a_step_of_many_ranks_names_their_number_not_the_first(tmp_path: Path) -> None:
    lost = "[rank{0}]:[E ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: W"
    (tmp_path / "a.log").write_text("".join(lost.format(rank) + "\n" for rank in range(7)))
    page = explain("a.log", "--state", "FAILED", "--nodes", "node[01-04]").stdout
    assert "7 ranks" in page
    assert "syslog of all 4 nodes" in page


def test_the_page_of_loose_files_says_how_many_they_are(tmp_path: Path) -> None:
    for name in ("syslog.log", "rank0.log", "rank1.log"):
        (tmp_path / name).write_text(XID + "\n")
    assert "syslog.log and 2 files more" in explain("syslog.log", "rank0.log", "rank1.log").stdout


def test_the_page_names_staged_rules_that_matched(tmp_path: Path) -> None:
    rules = write(tmp_path, a_toml=extractor(more='status = "staged"\n'))
    (tmp_path / "a.log").write_text("it is broken\n")
    page = explain("a.log", "--rules", rules).stdout
    assert "staged rule R matched ×1: counted, decides nothing" in page


def test_the_page_says_where_a_rule_that_crashed_stands(tmp_path: Path) -> None:
    code = (
        "from attribution_lib.rule_api import filter_def\n@filter_def('F', 't')\ndef f(context): raise KeyError('x')\n"
    )
    rules = write(tmp_path, a_toml=extractor(), b_py=code)
    (tmp_path / "a.log").write_text("it is broken\n")
    assert "finding: F (rules/b.py:2) KeyError" in explain("a.log", "--rules", rules).stdout


def test_a_verdict_that_is_not_sure_says_why_below_the_headline(log: Path) -> None:
    log.write_text("nothing to see\n", encoding="utf-8")
    page = explain(log, "--state", "NODE_FAIL", "--nodes", "node[01-02]").stdout
    told = " ".join(line.strip("│ ") for line in page.splitlines()[1:5])
    assert "(confidence low) Whose problem: a lost node; no part of it is named" in told
    assert "Not surer because no node is named" in told
    assert "syslog of all 2 nodes" in page
    assert "Not surer" not in explain("-", "--source", "syslog", stdin=XID).stdout
