"""The pages of the rules: search, hits in stored verdicts, cascades in and out, agreement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attribution_service.errors import InvalidRequestError, NotFoundError
from attribution_service.model import FeedbackJudgement, FeedbackRequest, VerdictKey
from dashboard.building.rules import rule_context, rules_context
from dashboard.contexts.rules import RulesFilters
from dashboard.site import Site
from dashboard_kit import Failure
from http_kit import ENGINE
from service_kit import START

if TYPE_CHECKING:
    from dashboard_kit import Shelf


@pytest.fixture
def site(shelf: Shelf) -> Site:
    shelf.fill([Failure("1", bad=("n1",)), Failure("2", at=START - 60, rule="GoneRule", symptom="Gone")])
    shelf.reader.add_feedback(VerdictKey(cluster="c1", job_id="1"), FeedbackRequest(judgement=FeedbackJudgement.RIGHT))
    shelf.reader.add_feedback(VerdictKey(cluster="c1", job_id="1"), FeedbackRequest(judgement=FeedbackJudgement.PARTLY))
    return Site(shelf.reader, lambda: START + 1, ENGINE)


def test_rules_that_decided_come_first_with_what_people_said(site: Site) -> None:
    page = rules_context(site, RulesFilters())
    first = page.rows[0]
    assert (first.name, first.decided, first.seen, first.kind) == ("XID", 1, 2, "catalog")
    assert (first.agreement.right, first.agreement.partly, first.agreement.share) == (1, 1, 0.75)
    assert (page.total, page.matching, len(page.rows)) == (ENGINE().rule_count, ENGINE().rule_count, 100)
    assert [(fact.name, fact.value) for fact in page.unknown_rules] == [("GoneRule", "1")]
    assert "latest verdict of each attempt" in page.hits_note


@pytest.mark.parametrize(
    ("filters", "name"),
    [
        ({"text": "fallen bus"}, "XID"),
        ({"text": "RULES/XID.TOML"}, "XID"),
        ({"kind": "cascade", "text": "nvswitch"}, "NvswitchFaultAtGpus"),
        ({"sub_domain": "application", "text": "out of memory"}, "GPUOutOfMemory.torch"),
        ({"used": True}, "XID"),
    ],
    ids=str,
)
def test_rules_are_found_by_what_they_are_about(site: Site, filters: dict[str, object], name: str) -> None:
    page = rules_context(site, RulesFilters.model_validate(filters), limit=500)
    assert name in [row.name for row in page.rows]
    assert page.matching < page.total
    if "kind" in filters:
        assert {row.kind for row in page.rows} == {filters["kind"]}


def test_the_list_goes_on(site: Site) -> None:
    every = [row.name for row in rules_context(site, RulesFilters(), limit=10_000).rows]
    assert [row.name for row in rules_context(site, RulesFilters(), offset=20, limit=5).rows] == every[20:25]


def test_a_rule_shows_its_symptoms_its_cascades_and_its_verdicts(site: Site) -> None:
    page = rule_context(site, "XID")
    assert {link.rule for link in page.cascades_in} >= {"NvswitchFaultAtGpus", "GpuMemoryContainment"}
    (nvswitch,) = [link for link in page.cascades_in if link.rule == "NvswitchFaultAtGpus"]
    assert (nvswitch.consequence, nvswitch.scope) == ("NVLINK error (Xid 74)", "node")
    assert page.cascades_out
    assert page.cascades_total >= len(page.cascades_in)
    ranks = [card.rank for card in page.symptoms]
    assert ranks == sorted(ranks, reverse=True)
    assert page.rule.rank == ranks[0]
    assert [row.job_id for row in page.verdicts] == ["1"]
    assert {entry.judgement.value for entry in page.feedback} == {"partly", "right"}
    assert "pattern" in {fact.name for fact in page.definition}


def test_a_cascade_shows_its_own_relation(site: Site) -> None:
    page = rule_context(site, "NvswitchFaultAtGpus")
    assert page.cascades_in == page.cascades_out
    assert page.cascades_in[0].cause.startswith("Host priv error (SXid 10001)")
    assert page.docs.startswith("A fatal NVSwitch error")
    assert page.rule.kind == "cascade"


def test_every_rule_has_a_page(sqlite: Shelf) -> None:
    site = Site(sqlite.reader, lambda: START, ENGINE)
    for name in sorted(ENGINE().locations)[::25]:
        assert rule_context(site, name).rule.name == name


def test_what_is_not_there_is_said(site: Site) -> None:
    with pytest.raises(NotFoundError, match="no rule of the name 'Nobody'"):
        rule_context(site, "Nobody")
    with pytest.raises(NotFoundError, match="no rules run"):
        rules_context(replace(site, engine=None), RulesFilters())
    with pytest.raises(InvalidRequestError):
        rules_context(site, RulesFilters(sub_domain="x"))
