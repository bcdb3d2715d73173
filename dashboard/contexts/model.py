"""The base of every context, and what all pages have in common."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

__all__ = ["Context", "Fact", "Notice", "NoticeLevel", "PageContext", "PageName"]


class Context(BaseModel):
    """A frozen part of a page; the text under each field is its documentation and its description in the schema."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


class PageName(StrEnum):
    """The pages; also the names of their JSON schemas (``docs/reference/dashboard/<name>.json``)."""

    RUNS = "runs"
    VERDICT = "verdict"
    FLEET = "fleet"
    RULES = "rules"
    RULE = "rule"
    WALKTHROUGH = "walkthrough"
    FEEDBACK = "feedback"
    ERROR = "error"


class NoticeLevel(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"


class Notice(Context):
    """A sentence that a reader must see before the content."""

    level: NoticeLevel
    """``warning``: what is shown is less than what was asked for."""
    text: str
    """One or two sentences."""


class Fact(Context):
    """A name and a value, for lists of details whose names are not fixed."""

    name: str
    """As the source calls it."""
    value: str
    """As text; may be hostile."""


class PageContext(Context):
    """The part that every page's context has."""

    page: PageName
    """Which page this is."""
    title: str
    """For the browser's title and the first heading; may hold text from a log."""
    store: str
    """Where the verdicts come from, for people: ``SQLite attributions.db``, ``DynamoDB verdicts``; empty for none."""
    version: str
    """Version of this program."""
    made_at: str
    """When this page was made."""
    notices: tuple[Notice, ...] = ()
    """What a reader must know first, for example that the store needs a narrower question."""
