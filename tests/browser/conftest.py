"""A real Chromium before a real server; ``make browser`` runs these, elsewhere they are not collected."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("ATTRIBUTION_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
SHOTS = ROOT / "build" / "browser"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(slots=True)
class Site:
    """The server under test, and a way to look at it."""

    url: str
    browser: Browser
    complaints: list[str] = field(default_factory=list)
    """What pages wrote to the console or failed to load: nothing should be there."""

    def open(self, path: str, **options: object) -> Page:
        """A page in a context of its own; ``options`` are the context's."""
        page = self.context(**options).new_page()
        page.goto(self.url + path, wait_until="load")
        return page

    def context(self, **options: object) -> BrowserContext:
        """A browser context whose complaints are kept and that reaches this server only."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})  # type: ignore[arg-type]  # playwright's own names
        context.on("page", self._listen)
        return context

    def _listen(self, page: Page) -> None:
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._check(request.url))

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not re.search(r"status of 4\d\d", text):
            self.complaints.append(f"{kind}: {text}")

    def _check(self, url: str) -> None:
        if not url.startswith((self.url, "data:")):
            self.complaints.append(f"request to elsewhere: {url}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("dashboard")
    database = folder / "verdicts.db"
    subprocess.run([PYTHON, str(Path(__file__).parent / "seed.py"), str(database)], check=True)  # noqa: S603 -- our own program
    command = [PYTHON, "-m", "attribution_cli", "serve", "--port", "0", "--data", str(folder / "data")]
    process = subprocess.Popen([*command, "--verdicts", f"sqlite:{database}"], stderr=subprocess.PIPE, text=True)  # noqa: S603 -- our own program
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"dashboard (http://\S+?)/$", line.strip()):
            break
    else:
        pytest.fail("the server did not start")
    yield found[1]
    process.terminate()
    process.wait(30)


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
