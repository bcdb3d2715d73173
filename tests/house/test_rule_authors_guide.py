"""The guide for rule authors can be followed: its steps are taken in a copy of the rules, and print what it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from guide_kit import ShownCommand, ShownFile, differences, run, steps

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "rule-authors.md").read_text(encoding="utf-8")
DAY = GUIDE.partition("## A day's work")[2].partition("\n## ")[0]
SAMPLE = "xid79-gpu-at-95c"
"""What the guide's `rules diff` compares: one case, all of them take minutes."""
REFUSED = {"attribution rules lint ocfs2": 3}
"""Steps of which the guide says that they find something."""
IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules, engine and one sample on a branch ``main``."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("rules", "layers", "dashboard", f"samples/cases/{SAMPLE}", "docs/reference"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (shown,) = (step for step in steps(DAY) if isinstance(step, ShownCommand) and step.line.startswith("cat "))
    (folder / "kern.log").write_text("\n".join(shown.printed) + "\n", encoding="utf-8")
    for command in (("init", "-q", "-b", "main"), ("add", "rules"), (*IDENTITY, "commit", "-qm", "x")):
        subprocess.run(["git", *command], cwd=folder, check=True)  # noqa: S603, S607 -- a scratch repository
    return folder


@pytest.fixture(scope="module")
def environment(checkout: Path) -> dict[str, str]:
    layers = checkout / "layers"
    packages = (layers / "engine", layers / "blueprint", checkout)
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        "XDG_CACHE_HOME": str(checkout / "cache"),
        "COLUMNS": "200",
    }


def test_a_days_work_prints_what_the_guide_shows_and_leaves_rules_that_pass(
    checkout: Path, environment: dict[str, str]
) -> None:
    taken = []
    for step in steps(DAY):
        if isinstance(step, ShownFile):
            assert (checkout / step.name).is_file(), f"{step.name}: the steps before do not make it"
            (checkout / step.name).write_text(step.text, encoding="utf-8")
            continue
        if step.line.startswith("make "):
            target = step.line.split()[1]
            assert re.search(rf"^{target}:.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            continue
        done = run(step.line, checkout, environment)
        assert done.returncode == REFUSED.get(step.line, 0), f"{step.line}\n{done.stdout}"
        assert differences(step.printed, done.stdout) == [], f"{step.line}\n{done.stdout}"
        taken.append(step.line.split()[2] if step.line.startswith("attribution rules") else "")
    assert {"new", "test", "match", "lint", "diff", "lock", "docs"} <= set(taken)
    checked = run("attribution rules docs --check && attribution rules lock --check", checkout, environment)
    assert checked.returncode == 0, checked.stdout
    assert "Ocfs2Error" in (checkout / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")


def test_what_is_shown_and_not_printed_is_a_difference() -> None:
    printed = "added to rules/a.toml\n3 rules pinned\n"
    assert differences(("added to rules/a.toml", "… rules pinned"), printed) == []
    assert differences(("…", "3 rules pinned"), printed) == []
    assert differences((), printed) == []
    assert differences(("added to rules/b.toml", "… rules pinned"), printed) == ["added to rules/b.toml"]
    assert differences(("3 rules pinned",), printed) != []
