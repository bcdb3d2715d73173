"""What tests of the browser share: where things are, and a site that hears every complaint of its pages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[1]
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


@dataclass  # playwright keeps notes of its own on a listener
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
