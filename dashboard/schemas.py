"""JSON schemas of the pages' JSON twins, made from the contexts: what ``docs/reference/dashboard/`` holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dashboard.contexts.error import ErrorContext
from dashboard.contexts.feedback import FeedbackContext
from dashboard.contexts.fleet import FleetContext
from dashboard.contexts.model import PageName
from dashboard.contexts.rules import RuleContext, RulesContext
from dashboard.contexts.runs import RunsContext
from dashboard.contexts.verdict import VerdictContext
from dashboard.contexts.walkthrough import WalkthroughContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.contexts.model import PageContext

__all__ = ["PAGES", "schema_text"]

PAGES: Mapping[PageName, type[PageContext]] = {
    PageName.RUNS: RunsContext,
    PageName.VERDICT: VerdictContext,
    PageName.FLEET: FleetContext,
    PageName.RULES: RulesContext,
    PageName.RULE: RuleContext,
    PageName.WALKTHROUGH: WalkthroughContext,
    PageName.FEEDBACK: FeedbackContext,
    PageName.ERROR: ErrorContext,
}
"""The context of each page."""


def schema_text(page: PageName) -> str:
    """The schema (2020-12) of a page's twin, indented; every key has its description."""
    schema = PAGES[page].model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{page.value}.json"}
    return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"
