"""``attribution explain``: whatever is given is read, or it is said what was not and how to give it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from attribution_cli.main import main
from engine_kit import OTHER_RULES
from explain_kit import OOM, WATCHDOG, XID, explain, verdict
from rules_kit import extractor, write

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

DMESG = "[Wed Jul  1 09:02:41 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."
SACCT = """\
JobID           JobName      State ExitCode
------------ ---------- ---------- --------
4711              train OUT_OF_ME+    0:125
"""
EXPORT = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795831260000000\n_HOSTNAME=gpu-09\nMESSAGE=x\n"
PRETTY = '{\n    "__CURSOR" : "s=1",\n    "MESSAGE" : "x"\n}\n'
TWO_NODES = 'job_id = "4711"\nnodes = ["gpu-01", "gpu-02"]\nstate = "FAILED"\n'


def page_of(result: Result) -> str:
    """The page with its line breaks undone."""
    return " ".join(result.stdout.split())


# --- a case folder --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slurm-4711.out", "syslog-node07", "node07/syslog", "syslog.log.gz"])
def test_what_a_case_folder_holds_beside_its_files_is_never_called_read(case: Path, name: str) -> None:
    other = case / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("x\n", encoding="utf-8")
    shown = name.partition("/")[0]
    found = verdict(case)
    assert found["evidence_status"] == "complete"
    assert [row["instance"] for row in found["connector_reports"] if row["reason"]] == [shown]
    result = explain(case)
    assert f"{case}/{shown}: not read" in result.stderr
    assert "Not all that was given was read" in page_of(result)
    assert f"not read: {shown}: " in page_of(result)


def test_a_case_folder_of_which_nothing_is_read_is_bad_input_with_the_way_to_give_it(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "gpu-01").mkdir(parents=True)
    (folder / "job.toml").write_text(TWO_NODES)
    (folder / "train.out").write_text(OOM + "\n")
    (folder / "expected.toml").write_text("")
    assert "--job mine/job.toml $(find mine -type f)" in explain("mine").stderr
    (folder / "gpu-01").rmdir()
    result = explain("--json", "mine")
    assert result.exit_code == 2
    assert "attribution explain --job mine/job.toml mine/*" in result.stderr
    as_told = explain("--json", "--job", "mine/job.toml", *sorted(folder.iterdir()))
    assert as_told.exit_code == 0
    assert json.loads(as_told.stdout)["root_cause"]["symptom"] == "CUDA out of memory"


def test_hidden_files_of_a_case_folder_are_nobodys_evidence(case: Path) -> None:
    (case / ".DS_Store").touch()
    assert verdict(case)["evidence_status"] == "complete"


# --- the job's facts among loose files ------------------------------------------------------------------------------


def test_a_job_file_among_loose_files_is_taken_as_the_jobs_facts(case: Path) -> None:
    result = explain("--json", *sorted(case.iterdir()))
    found = json.loads(result.stdout)
    assert (found["job"]["job_id"], found["case"]) == ("4711", str(case / "applog.log"))
    assert [row["instance"] for row in found["connector_reports"]] == [f"{case}/applog.log", f"{case}/syslog.log"]
    assert f"{case}/job.toml: taken as --job, not as a log" in result.stderr


def test_the_label_of_a_case_is_not_evidence_among_loose_files_either(case: Path) -> None:
    (case / "expected.toml").write_text(OOM)
    result = explain("--json", *sorted(case.iterdir()))
    assert f"{case}/expected.toml" not in str(json.loads(result.stdout)["connector_reports"])
    assert f"{case}/expected.toml: not read (the label of a case)" in result.stderr


def test_two_statements_of_one_jobs_facts_are_refused(case: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('job_id = "5"')
    both = explain(case / "applog.log", case / "job.toml", "job.toml")
    beside = explain(case / "applog.log", case / "job.toml", "--job", "job.toml")
    options = explain(case / "applog.log", case / "job.toml", "--state", "FAILED")
    assert [both.exit_code, beside.exit_code, options.exit_code] == [2, 2, 2]
    assert f"{case}/job.toml, job.toml: among the loose files; loose files are one job" in both.stderr
    assert f"{case}/job.toml: among the loose files, beside --job job.toml" in beside.stderr
    assert f"{case}/job.toml: among the loose files, beside --state" in options.stderr


@pytest.mark.parametrize(
    ("text", "what", "instead"),
    [
        (SACCT, "is a table of sacct", "--state, --exit-code, --nodes"),
        (SACCT.replace("  ", " | "), "is a table of sacct", "--job ID without files"),
        ("JobID|User|State|ExitCode|\n4711|u|FAILED|1:0|\n", "is a table of sacct", "--state"),
        (EXPORT, "is a journal's export", "give journalctl -o json"),
        (PRETTY.replace("\n    ", "\n\t"), "is a journal in json-pretty", "give journalctl -o json"),
        (
            '{\n    "apiVersion": "v1",\n    "items": [\n',
            "is kubectl's JSON",
            "the table that kubectl get events prints",
        ),
    ],
)
def test_a_layout_that_is_not_read_is_named_with_what_to_give_instead(
    tmp_path: Path, text: str, what: str, instead: str
) -> None:
    (tmp_path / "given.txt").write_text(text)
    result = explain("given.txt")
    assert f"given.txt: {what}" in result.stderr
    assert instead in page_of(result)


@pytest.mark.parametrize(
    "text", [XID, OOM, '{"MESSAGE": "x"}\n', '{\n  "lr": 1\n}\n', "PATH=/bin\nHOME=/root\n__X=1\n"]
)
def test_nothing_of_the_kind_is_said_of_a_log(tmp_path: Path, text: str) -> None:
    (tmp_path / "given.txt").write_text(text)
    assert not explain("given.txt").stderr


def test_a_kernel_message_that_the_journal_wrote_as_bytes_is_read_like_any_other(tmp_path: Path) -> None:
    message = f"\x1b[31m{XID.partition('kernel: ')[2]}\x1b[0m"
    entry = {"_HOSTNAME": "node07", "SYSLOG_IDENTIFIER": "kernel", "__REALTIME_TIMESTAMP": "1782896561000000"}
    lines = [json.dumps({**entry, "MESSAGE": said}) for said in (message, list(message.encode()))]
    (tmp_path / "journal.json").write_text("\n".join(lines))
    found = verdict("journal.json", "--nodes", "node07,node08")
    assert [(node["node"], node["occurrences"]) for node in found["bad_nodes"]] == [("node07", 2)]


def test_a_byte_order_mark_does_not_hide_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "syslog.txt").write_text(XID, encoding="utf-8-sig")
    found = verdict("syslog.txt", "--start", "2026-07-01T09:00:00Z")["root_cause"]
    assert (found["node"], found["timestamp"]) == ("node07", "2026-07-01T09:02:41.000000Z")


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [("0:9", "exit 0:9 (signal 9, SIGKILL)"), ("137", "exit 137 (signal 9, SIGKILL)"), ("-11", "(signal 11, SIGSEGV)")],
)
def test_an_exit_code_that_means_a_signal_is_shown_with_its_name(log: Path, exit_code: str, words: str) -> None:
    assert words in page_of(explain(log, f"--exit-code={exit_code}"))


@pytest.mark.parametrize("exit_code", ["1:0", "0:0", "0:99", "odd"])
def test_an_exit_code_without_a_signal_that_has_a_name_is_shown_as_it_is(log: Path, exit_code: str) -> None:
    assert "SIG" not in page_of(explain(log, f"--exit-code={exit_code}")).partition("Root evidence")[0]


# --- the time zone --------------------------------------------------------------------------------------------------


def test_the_time_zone_of_a_job_file_may_be_given_beside_it(log: Path, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text('job_id = "7"\nstart = 2026-07-01T09:00:00\n')
    job = verdict(log, "--job", "case.toml", "--timezone", "Asia/Tokyo")["job"]
    assert job["start"] == "2026-07-01T00:00:00.000000Z"


def test_a_time_zone_that_contradicts_the_job_file_is_refused_by_its_key(log: Path, tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text('job_id = "7"\ntimezone = "UTC"\n')
    result = explain(log, "--job", "case.toml", "--timezone", "Asia/Tokyo")
    assert result.exit_code == 2
    assert "case.toml: timezone = 'UTC' there, and 'Asia/Tokyo' given" in result.stderr


def test_options_for_a_case_folder_are_refused_with_the_keys_that_say_the_same(case: Path) -> None:
    assert "job.toml, with keys such as state and timezone" in explain(case, "--timezone", "Asia/Tokyo").stderr


# --- the node of a file ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["dmesg-gpu-01", "dmesg_GPU-01.txt", "gpu-01-20260701.dmesg", "syslog-gpu-01.1", "gpu-01/dmesg"]
)
def test_a_system_log_without_hosts_is_of_the_node_that_its_path_names(tmp_path: Path, path: str) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(DMESG + "\n")
    arguments = (path, "--nodes", "gpu-01,gpu-02", "--state", "FAILED")
    assert [node["node"] for node in verdict(*arguments)["bad_nodes"]] == ["gpu-01"]
    assert f"{path}: its node is the one that its path names" in page_of(explain(*arguments))


@pytest.mark.parametrize("path", ["dmesg-gpu-01-2", "dmesg-xgpu-01", "dmesg-gpu-011", "dmesg-gpu-01-gpu-02", "dmesg"])
def test_a_path_that_names_no_one_node_of_the_job_places_nothing(tmp_path: Path, path: str) -> None:
    (tmp_path / path).write_text(DMESG + "\n")
    assert verdict(path, "--nodes", "gpu-01,gpu-02", "--state", "FAILED")["bad_nodes"] == []


def test_a_host_in_the_lines_beats_the_one_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "syslog-gpu-01").write_text(f"noise\n{XID}\n")
    found = verdict("syslog-gpu-01", "--nodes", "gpu-01,node07", "--state", "FAILED")
    assert [node["node"] for node in found["bad_nodes"]] == ["node07"]


def test_the_output_of_a_job_is_not_of_the_node_that_its_path_names(tmp_path: Path) -> None:
    (tmp_path / "train-gpu-01.out").write_text(WATCHDOG + "\nCUDA error: uncorrectable ECC error encountered\n")
    found = verdict("train-gpu-01.out", "--nodes", "gpu-01,gpu-02", "--state", "FAILED")
    assert found["bad_nodes"] == []


# --- many files -----------------------------------------------------------------------------------------------------


def test_of_many_files_those_that_were_read_are_counted_and_the_others_named(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"rank{number}.log").write_text("step 1\n")
    (tmp_path / "rank7.log").unlink()
    (tmp_path / "rank8.log").write_text("")
    result = explain(*(f"rank{number}.log" for number in range(300)), "--state", "FAILED")
    page = page_of(result)
    assert "298 files (298 of applog; --json names them)" in page
    assert "NOT READ rank7.log: cannot be read" in page
    assert "empty: rank8.log" in page
    assert "rank9.log" not in page


# --- rules of several folders ---------------------------------------------------------------------------------------


def test_rules_of_all_folders_are_used(tmp_path: Path) -> None:
    one = write(tmp_path / "one", a_toml=extractor())
    other = write(tmp_path / "other", a_toml=f'author = "tests"\n{OTHER_RULES}')
    (tmp_path / "x.log").write_text("LAMP LIT\nit is broken\n")
    found = verdict("x.log", "--rules", one, "--rules", other)
    assert {row["symptom"] for row in found["symptoms"]} == {"Broken", "Lamp lit"}


@pytest.mark.parametrize("command", [["serve"], ["replay"], ["keep", "c:1:0"]])
def test_a_command_that_takes_one_rules_folder_refuses_a_second(command: list[str]) -> None:
    result = CliRunner().invoke(main, [*command, "--rules", "a", "--rules", "b"])
    assert result.exit_code == 2
    assert "2 folders given (a, b); expected one: put the rules of all into one folder" in result.stderr
