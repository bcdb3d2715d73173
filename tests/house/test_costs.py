"""The costs that the operator guide states are counted from the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_costs_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "cost.py"), "--check", str(ROOT / "docs" / "operator-guide.md")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own script
    assert done.returncode == 0, done.stderr
