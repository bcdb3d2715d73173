"""The linters of state machines see what they are there for; needs them (``make validate``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
TOOLS = [os.environ.get(name, "") for name in ("ATTRIBUTION_CFN_LINT", "ATTRIBUTION_ASL_VALIDATOR")]

pytestmark = pytest.mark.skipif(not all(TOOLS), reason="make validate installs the linters and names them")


def linted(folder: Path, change: Callable[[dict[str, Any]], None]) -> tuple[int, str]:
    """(exit status, what was said) of the job workflow with one change."""
    machine = json.loads((ROOT / "statemachines" / "job.asl.json").read_text())
    change(machine)
    file = folder / "job.asl.json"
    file.write_text(json.dumps(machine))
    command = [sys.executable, str(ROOT / "scripts" / "lint_state_machines.py"), *TOOLS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own tools
    return done.returncode, done.stdout


def test_the_state_machine_as_it_is_passes(tmp_path: Path) -> None:
    status, said = linted(tmp_path, lambda _: None)
    assert (status, "no complaints" in said) == (0, True), said


def test_a_next_that_leads_nowhere_fails(tmp_path: Path) -> None:
    status, said = linted(tmp_path, lambda machine: machine["States"]["Gather"].update(Next="Nowhere"))
    assert status == 1
    assert "asl-validator:" in said
    assert "target: Nowhere" in said


def test_a_catch_that_leads_nowhere_fails(tmp_path: Path) -> None:
    def change(machine: dict[str, Any]) -> None:
        machine["States"]["Gather"]["Catch"][0]["Next"] = "Nowhere"

    status, said = linted(tmp_path, change)
    assert (status, "Nowhere" in said) == (1, True), said


def test_a_state_without_its_resource_fails(tmp_path: Path) -> None:
    status, said = linted(tmp_path, lambda machine: machine["States"]["Gather"].pop("Resource"))
    assert status == 1
    assert "cfn-lint: E3601" in said
    assert "asl-validator:" in said
