"""``attribution explain --job ID``: one job of a scheduler, from the question to the verdict."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from attribution_cli.explain import explain

DATA = Path(__file__).parent / "data" / "slurm"
SACCT = f"""
import pathlib, sys
data = pathlib.Path({str(DATA)!r})
words = sys.argv[1:]
if "scontrol" in words:
    sys.exit("slurm_load_jobs error: Unable to contact slurm controller")
if "--helpformat" in words:
    print((data / "helpformat-22.05.txt").read_text())
else:
    wanted = words[words.index("--jobs") + 1]
    rows = (data / "sacct-22.05.txt").read_text().splitlines()
    print("\\n".join(row for row in rows if row.split("|")[0].split(".")[0] == wanted))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose ``sacct`` prints what a real one printed; its window and its sink are not for one job."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in [name for name in os.environ if name.startswith("NVAB_")]:
        monkeypatch.delenv(name)
    (tmp_path / "sacct.py").write_text(SACCT)
    (tmp_path / "out.log").write_text('Traceback (most recent call last):\n  File "t.py", line 1\nValueError: lr < 0\n')
    config = tmp_path / "site.toml"
    prefix = json.dumps([sys.executable, str(tmp_path / "sacct.py")])
    config.write_text(
        f'[eca.slurm]\nsince = "2h"\nprefix = {prefix}\n[log.file]\npaths = "out.log"\njob_output = false\n'
        '[output.db.sqlite]\npath = "verdicts.db"\n'
    )
    return config


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(explain, [str(word) for word in words])


def test_a_job_is_explained_by_its_number_and_nothing_is_written(site: Path) -> None:
    result = asked("--job", "4", "--configs", site)
    assert result.exit_code == 0, result.output
    assert "ValueError: lr < 0" in result.stdout
    assert not (site.parent / "verdicts.db").exists()


def test_the_verdict_can_be_had_as_json(site: Path) -> None:
    result = asked("--job", "4", "--configs", site, "--json")
    verdict = json.loads(result.stdout)
    assert (verdict["job"]["job_id"], verdict["sub_domain"]) == ("4", "application")


def test_a_job_that_nobody_knows_is_told(site: Path) -> None:
    result = asked("--job", "99", "--configs", site)
    assert result.exit_code == 1
    assert "99: the scheduler knows no such job" in result.stderr


def test_a_scheduler_that_cannot_be_asked_is_told(site: Path) -> None:
    site.write_text('[eca.slurm]\nsince = "2h"\nprefix = "/nowhere/ssh"\n')
    result = asked("--job", "4", "--configs", site)
    assert result.exit_code == 1
    assert "/nowhere/ssh: cannot be run" in result.stderr


def test_what_is_no_job_id_is_refused(site: Path) -> None:
    result = asked("--job", "4;reboot", "--configs", site)
    assert result.exit_code == 2
    assert "ids" in result.stderr


def test_neither_a_path_nor_a_job_is_nothing_to_explain() -> None:
    result = asked()
    assert result.exit_code == 2
    assert "nothing to explain" in result.stderr
