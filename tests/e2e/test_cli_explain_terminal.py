"""``attribution explain``: what a terminal, a pipe and an odd environment get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint.cache import cache_folder
from attribution_blueprint.local import LocalAttribution
from explain_kit import HOSTILE, INTERPRETED, OOM, explain, verdict
from sample_cases import ROOT

if TYPE_CHECKING:
    from pathlib import Path


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
    for folder in ("/dev/null", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        assert explain(case, parts=LocalAttribution()).exit_code == 0
    assert not (tmp_path / "relative").exists()
    monkeypatch.delenv("XDG_CACHE_HOME")

    def no_home() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr("pathlib.Path.home", no_home)
    assert not cache_folder().parent.is_dir()
    assert explain(case, parts=LocalAttribution()).exit_code == 0


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


@pytest.mark.parametrize(("size", "told"), [(16 << 20, True), (1 << 10, False)])
def test_a_terminal_shows_that_large_evidence_is_being_read(tmp_path: Path, size: int, told: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    log = tmp_path / "train.log"
    log.write_bytes(OOM.encode() + b"\n" + b"all is well\n" * (size // 12))
    mine, theirs = os.openpty()
    command = [sys.executable, "-m", "attribution_cli", "explain", "--json", str(log)]
    paths = os.pathsep.join(str(ROOT / "layers" / part) for part in ("engine", "blueprint"))
    done = subprocess.run(  # noqa: S603 -- ourselves
        command,
        env={**os.environ, "PYTHONPATH": paths, "TERM": "xterm", "COLUMNS": "300"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=120,
    )
    os.write(theirs, b"end")
    said = os.read(mine, 1 << 16)
    os.close(mine)
    os.close(theirs)
    assert done.returncode == 0
    assert (b"train.log: reading 16 MiB" in said) is told
