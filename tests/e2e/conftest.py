"""A small case, a small log, and a folder of its own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from explain_kit import OOM, WATCHDOG, XID

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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
