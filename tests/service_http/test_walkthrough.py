"""``docs/rest-api.md``: its shell examples run in order against a server, and answer what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from http_kit import ROOT, running

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "rest-api.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEPARATOR = "----- next example -----"


def examples() -> list[tuple[str, Any]]:
    """(shell, expected answer or None) in the order of the page."""
    found: list[tuple[str, Any]] = []
    for kind, text in BLOCK.findall(PAGE):
        if kind == "sh":
            found.append((text, None))
        elif kind == "json":
            found[-1] = (found[-1][0], json.loads(text))
    return found


def differences(expected: Any, found: Any, where: str = "") -> list[str]:
    """Where an answer lacks what is expected; members that the page leaves out do not matter."""
    if isinstance(expected, dict) and isinstance(found, dict):
        rows = [differences(value, found.get(name), f"{where}.{name}") for name, value in expected.items()]
        return [row for part in rows for row in part]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        rows = [differences(*pair, f"{where}[]") for pair in zip(expected, found, strict=True)]
        return [row for part in rows for row in part]
    return [] if expected == found else [f"{where}: {found!r} instead of {expected!r}"]


def test_every_example_answers_what_the_page_says(folder: Path) -> None:
    listed = examples()
    script = "set -euo pipefail\n" + f"\necho; echo '{SEPARATOR}'\n".join(text for text, _ in listed)
    with running(folder) as api:
        done = subprocess.run(  # noqa: S603 -- our own page
            ["/bin/bash", "-c", script],
            env={**os.environ, "URL": f"http://127.0.0.1:{api.port}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr + done.stdout
    answers = done.stdout.split(SEPARATOR)
    assert len(answers) == len(listed)
    problems = [
        (text, difference)
        for (text, expected), answer in zip(listed, answers, strict=True)
        if expected is not None
        for difference in differences(expected, json.loads(answer))
    ]
    assert problems == []


def test_the_python_example_runs(folder: Path) -> None:
    (program,) = [text for kind, text in BLOCK.findall(PAGE) if kind == "python"]
    with running(folder) as api:
        environment = {**os.environ, "URL": f"http://127.0.0.1:{api.port}"}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)  # noqa: S603 -- our own page
