"""``scripts/smoke``, which operators run against a deployed stack, runs against the local server."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from http_kit import ROOT

if TYPE_CHECKING:
    from http_kit import Api


def smoke(url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "smoke"), url]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 -- our own script


def test_every_check_holds_on_a_healthy_server(api: Api) -> None:
    done = smoke(f"http://127.0.0.1:{api.port}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}
