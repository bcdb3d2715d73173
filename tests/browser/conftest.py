"""A real Chromium before a real server; ``make browser`` runs these, elsewhere they are not collected."""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser_kit import CHROMIUM, FLAGS, PYTHON, SHOTS, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("dashboard")
    database = folder / "verdicts.db"
    subprocess.run([PYTHON, str(Path(__file__).parent / "seed.py"), str(database)], check=True)  # noqa: S603 -- our own program
    command = [PYTHON, "-m", "attribution_cli", "serve", "--port", "0", "--data", str(folder / "data")]
    process = subprocess.Popen([*command, "--verdicts", f"sqlite:{database}"], stderr=subprocess.PIPE, text=True)  # noqa: S603 -- our own program
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"dashboard (http://\S+?)/ shows ", line):
            break
    else:
        pytest.fail("the server did not start")
    yield found[1]
    process.terminate()
    process.communicate(timeout=30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- only where it is installed

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def site(server: str, browser: Browser) -> Iterator[Site]:
    """Whatever a page complains of fails the test that opened it."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    found = Site(server, browser)
    yield found
    for context in browser.contexts:
        context.close()
    assert found.complaints == []
