"""Every page's context is documented, its twin keeps to the committed schema, and both have the same keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from attribution_service.errors import InvalidRequestError
from attribution_service.model import FeedbackJudgement, FeedbackRequest, VerdictKey
from dashboard.building.error import error_context, unknown_page
from dashboard.building.feedback import feedback_context
from dashboard.building.fleet import fleet_context
from dashboard.building.rules import rule_context, rules_context
from dashboard.building.runs import runs_context
from dashboard.building.verdict import verdict_context
from dashboard.contexts.feedback import FeedbackFilters
from dashboard.contexts.fleet import FleetFilters
from dashboard.contexts.model import Context, PageName
from dashboard.contexts.rules import RulesFilters
from dashboard.contexts.runs import RunsFilters
from dashboard.schemas import PAGES, schema_text
from dashboard.site import Site
from dashboard_kit import APPLICATION, HARDWARE, Failure, sample_verdict
from http_kit import ENGINE, ROOT
from service_kit import START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboard.contexts.model import PageContext
    from dashboard_kit import Shelf

SCHEMAS = ROOT / "docs" / "reference" / "dashboard"


def parts_of(context: type[Context]) -> Iterator[type[Context]]:
    yield context
    for part in context.__subclasses__():
        yield from parts_of(part)


@pytest.mark.parametrize("part", sorted(set(parts_of(Context)), key=lambda part: part.__name__))
def test_every_field_is_documented(part: type[Context]) -> None:
    assert part.__doc__
    assert [name for name, field in part.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("page", PageName)
def test_the_committed_schema_is_the_contexts(page: PageName) -> None:
    assert (SCHEMAS / f"{page.value}.json").read_text(encoding="utf-8") == schema_text(page)
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {page.value for page in PageName}
    assert set(PAGES) == set(PageName)


@pytest.fixture
def pages(shelf: Shelf) -> list[PageContext]:
    """Every page over a store with something of everything."""
    for slug in (HARDWARE, APPLICATION, "nvswitch-sxid-then-xid74-and-gsp-timeouts"):
        shelf.put(sample_verdict(slug).model_copy(update={"attributed_at": "2026-05-28T20:00:00Z"}))
    shelf.fill(
        Failure(str(number), at=START - 90_000 * number, bad=("n1",), pairs=(("a", "b"),)) for number in range(9)
    )
    key = VerdictKey(cluster="c1", job_id="1")
    said = FeedbackRequest(judgement=FeedbackJudgement.WRONG, comment="</script>\x00")
    shelf.reader.add_feedback(key, said)
    site = Site(shelf.reader, lambda: START, ENGINE)
    nvswitch = VerdictKey(cluster="c1", job_id="serve-k2-8")
    return [
        runs_context(site, RunsFilters(cluster="c1", since="2026-05-01")),
        runs_context(site, RunsFilters()),
        verdict_context(site, key),
        verdict_context(site, nvswitch),
        fleet_context(site, FleetFilters(cluster="c1")),
        rules_context(site, RulesFilters(text="xid")),
        rule_context(site, "XID"),
        feedback_context(site, FeedbackFilters()),
        error_context(InvalidRequestError("no"), START),
        unknown_page("/nowhere", START),
    ]


def test_every_twin_keeps_to_its_schema_and_has_its_keys(pages: list[PageContext]) -> None:
    for page in pages:
        schema = json.loads((SCHEMAS / f"{page.page.value}.json").read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        twin = json.loads(page.model_dump_json())
        Draft202012Validator(schema).validate(twin)
        assert keys_of(twin) <= {name for part in parts_of(Context) for name in part.model_fields}
        assert set(twin) == set(schema["properties"]) == set(schema["required"])
    assert {page.page for page in pages} == set(PageName) - {PageName.WALKTHROUGH}


def keys_of(value: Any) -> set[str]:
    """Every key anywhere in a JSON value."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set()
