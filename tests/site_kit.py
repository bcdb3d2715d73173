"""A dashboard over a shelf of verdicts, asked like a browser asks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from attribution_blueprint.sample_cases import sample_cases, sample_folder
from attribution_service.service import EVERYTHING
from dashboard.pages.answering import answer
from dashboard.pages.exchange import PageRequest
from dashboard.pages.library import Library
from http_kit import ENGINE

if TYPE_CHECKING:
    from attribution_service.service import Caller
    from dashboard.pages.exchange import PageAnswer
    from dashboard_kit import Shelf

HOST = "dash.example"


@dataclass(slots=True)
class Browser:
    """Asks a library; keeps its cookie like a browser does."""

    library: Library
    caller: Caller = EVERYTHING
    base: str = ""
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, address: str, method: str = "GET", **headers: str) -> PageAnswer:
        """The answer to one request."""
        return self._ask(method, address, b"", headers)

    def page(self, address: str) -> str:
        """The HTML of a page that is there."""
        found = self.get(address)
        assert found.status == 200, found.body[:600]
        return found.body.decode()

    def send(self, address: str, fields: dict[str, str], **headers: str) -> PageAnswer:
        """A form, by default from our own page."""
        given = {"origin": f"https://{HOST}", "content-type": "application/x-www-form-urlencoded", **headers}
        return self._ask("POST", address, urlencode(fields).encode(), {k: v for k, v in given.items() if v})

    def token(self, address: str) -> str:
        """What stands in the form of a page."""
        found = re.search(r'name="token" value="([^"]+)"', self.page(address))
        assert found is not None
        return found[1]

    def _ask(self, method: str, address: str, body: bytes, headers: dict[str, str]) -> PageAnswer:
        path, _, query = address.partition("?")
        sent = {"host": HOST, "cookie": self.cookie, **self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        many = {name: tuple(values) for name, values in parse_qs(query, keep_blank_values=True).items()}
        made = answer(self.library, PageRequest(method, path, many, sent, body, self.caller, self.base))
        for cookie in made.cookies:
            self.cookie = cookie.partition(";")[0]
        return made


def browser_of(shelf: Shelf, caller: Caller = EVERYTHING, base: str = "") -> Browser:
    """A browser before the dashboard of a shelf, with the real rules and the real samples."""
    library = Library(shelf.reader_of, ENGINE, lambda: shelf.now[0], lambda: sample_cases(sample_folder()))
    return Browser(library, caller, base)
