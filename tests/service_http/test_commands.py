"""The commands beside the server: rules released into a store, kept evidence attributed again."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from attribution_cli.export import export
from attribution_cli.keep import keep
from attribution_cli.release import release
from attribution_cli.replay import replay_command
from attribution_cli.serve import serve
from attribution_lib.rules.folders import bundled_rules
from attribution_service.settings import Settings
from http_kit import JOB, SESSION, running

if TYPE_CHECKING:
    from pathlib import Path

_OTHER_RULES = """
author = "test"
[[symptom]]
name = "Something else"
outcome = "data_error"
rank = 700
scope = "job"
docs = "Never in these tests."
[[extractor]]
name = "SomethingElse"
match_re = 'something else'
emit = { type = "bad_node", symptom = "Something else" }
"""
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def invoke(command: object, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(arguments))  # type: ignore[arg-type]  # any command
    return result.exit_code, result.output


def test_rules_are_published_activated_and_rolled_back(tmp_path: Path) -> None:
    data, other = str(tmp_path / "data"), tmp_path / "rules"
    shutil.copytree(bundled_rules(), other)
    (other / "zz_extra.toml").write_text("")
    assert invoke(release, "show", "--data", data) == (0, "none: the functions use the rules of their layer\n")
    first = invoke(release, "publish", "--activate", "--data", data)[1].strip()
    second = invoke(release, "publish", str(other), "--data", data)[1].strip()
    assert len({first, second}) == 2
    assert first in invoke(release, "show", "--data", data)[1]
    assert invoke(release, "activate", second, "--data", data)[1].startswith(f"current   {second}")
    assert invoke(release, "rollback", "--data", data)[1].startswith(f"current   {first}")
    code, said = invoke(release, "activate", "0" * 64, "--data", data)
    assert (code, "not published" in said) == (2, True)


def test_kept_evidence_is_attributed_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, settings=Settings(evidence_days=7)) as api:
        api.open(JOB)
        api.observe(OOM)
        assert api("GET", f"{SESSION}/attribution").status == 200
    code, said = invoke(replay_command, "--data", str(data))
    assert (code, "same    prod:4711:0" in said, "1 verdicts, 0 would change" in said) == (0, True, True)
    assert invoke(replay_command, "--data", str(data), "--diff")[1].startswith("1 verdicts")


def test_the_verdict_of_an_open_session_is_kept_where_the_dashboard_and_queries_look(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as api:
        api.open({**JOB, "start": "2026-06-02T20:00:00Z"})
        api.observe(OOM)
        name = SESSION.rpartition("/")[2]
        code, said = invoke(keep, name, "--data", str(data))
        assert (code, said) == (0, f"kept    {name}  gpu_out_of_memory  /verdict/prod/4711/0\n")
        stored = api("GET", "/v2/verdict/prod/4711/0").json
        assert (stored["sub_domain"], stored["evidence_status"]) == ("application", "complete")
        assert api("GET", SESSION).status == 200, "the session stays open"
        api.observe("more", stream="b.log")
        assert invoke(keep, name, "--data", str(data))[0] == 0
        assert api("GET", "/v2/verdict/prod/4711/0").json["based_on"]["batches"] == 2
        assert len(api("GET", "/v2/verdict?cluster=prod").json["verdicts"]) == 1


@pytest.mark.parametrize("name", ["prod:none:0", "no id at all"])
def test_a_session_that_is_not_there_has_nothing_to_keep(tmp_path: Path, name: str) -> None:
    with running(tmp_path / "data"):
        code, said = invoke(keep, name, "--data", str(tmp_path / "data"))
    assert code == 2
    assert "attributor_id" in said or "no open session of this id" in said


def test_other_rules_show_what_would_change(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "rules"
    other.mkdir()
    (other / "one.toml").write_text(_OTHER_RULES)
    with running(data, settings=Settings(evidence_days=7)) as api:
        api.open(JOB)
        api.observe(OOM)
        api("GET", f"{SESSION}/attribution")
    code, said = invoke(replay_command, "--data", str(data), "--rules", str(other), "--diff")
    assert code == 1
    assert "outcome: gpu_out_of_memory → unknown" in said


@pytest.mark.parametrize("span", ["7", "d", "7y", "-1d", ""])
def test_a_span_that_is_none_is_refused(span: str) -> None:
    code, said = invoke(replay_command, "--since", span)
    assert (code, "expected a number and m, h, d or w" in said) == (2, True)


def test_a_port_that_is_taken_is_refused_in_one_line(tmp_path: Path) -> None:
    with running(tmp_path / "a") as api:
        code, said = invoke(serve, "--port", str(api.port), "--data", str(tmp_path / "b"))
    assert code == 2
    assert (
        said == f"127.0.0.1:{api.port}: Address already in use; give another --port (0 takes any free one) or --host\n"
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--data", "file", "expected a folder that can be written"),
        ("--rules", "nowhere", "nowhere"),
        ("--rules", "broken", "one.toml"),
        ("--log-level", "LOUD", "one of"),
    ],
)
def test_what_cannot_be_served_is_refused_before_the_first_client_comes(
    tmp_path: Path, option: str, value: str, said: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "one.toml").write_text("[[rule]\n")
    given = value if option == "--log-level" else str(tmp_path / value)
    code, answer = invoke(
        serve, "--port", "0", *([] if option == "--data" else ["--data", str(tmp_path)]), option, given
    )
    assert (code, said in answer) == (2, True), answer


def test_a_release_that_was_never_published_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTRIBUTION_RULES_RELEASE", "0" * 64)
    code, said = invoke(serve, "--port", "0", "--data", str(tmp_path))
    assert (code, "0000" in said, "Traceback" in said) == (2, True, False), said


def test_what_a_folder_keeps_is_copied_into_tables(tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "copy.db"
    with running(data) as api:
        api.open()
    code, said = invoke(export, str(target), "--data", str(data))
    assert (code, "1  sessions" in said) == (0, True)
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("SELECT job_id FROM sessions").fetchall() == [(JOB["job_id"],)]


@pytest.mark.parametrize(
    ("store", "target", "said"),
    [
        ("missing", "copy.db", "has no service.db"),
        ("data", "data/copy.db", "lies in the store's own folder"),
        ("data", "text.txt", "cannot be written"),
        ("data", "none/copy.db", "cannot be written"),
    ],
)
def test_a_copy_that_cannot_be_made_is_refused_with_the_reason(
    tmp_path: Path, store: str, target: str, said: str
) -> None:
    with running(tmp_path / "data"):
        pass
    (tmp_path / "text.txt").write_text("no database, and longer than its header would be\n" * 40)
    code, told = invoke(export, str(tmp_path / target), "--data", str(tmp_path / store))
    assert (code, said in " ".join(told.split())) == (2, True)
