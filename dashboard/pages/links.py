"""Addresses of pages: templates name things, this makes paths of them. What is in a name never leaves its segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Links"]


@dataclass(frozen=True, slots=True)
class Links:
    """Paths below the site's base."""

    base: str = ""
    assets: Mapping[str, str] | None = None
    """{file: version}, for addresses that change with the content."""

    def page(self, path: str, **query: object) -> str:
        """A page, with what of the query is not empty."""
        given = {name: str(value) for name, value in query.items() if value not in ("", None, False)}
        return f"{self.base}{path}" + (f"?{urlencode(given)}" if given else "")

    def runs(self, filters: Mapping[str, object] | None = None, **query: object) -> str:
        """The list of runs under these filters."""
        return self.page("/", **{**(filters or {}), **query})

    def verdict(self, cluster: str, job_id: str, attempt: int, run: str = "", suffix: str = "") -> str:
        """A verdict's page; ``suffix`` ``.json`` is its twin, ``/raw.json`` the verdict itself, ``.md`` the ticket."""
        path = f"/verdict/{_segment(cluster)}/{_segment(job_id)}/{attempt}{suffix}"
        return self.page(path, run=run)

    def rule(self, name: str, suffix: str = "") -> str:
        """A rule's page."""
        return self.page(f"/rules/{_segment(name)}{suffix}")

    def sample(self, slug: str, step: str = "") -> str:
        """A sample in the walkthrough, at one of its steps."""
        return self.page(f"/walkthrough/{_segment(slug)}", step=step)

    def asset(self, name: str) -> str:
        """A static file under an address that browsers may keep for ever."""
        version = (self.assets or {}).get(name, "")
        return self.page(f"/static/{name}", v=version)


def _segment(text: str) -> str:
    return quote(text, safe="")
