"""The walkthrough: steps of a real run, which end in the verdict that anybody gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.sample_cases import sample_cases, sample_folder
from dashboard_kit import sample_verdict
from site_kit import browser_of

if TYPE_CHECKING:
    from dashboard_kit import Shelf

SLUG = "cuda-oom-rank11-zero3-four-nodes"


@pytest.fixture
def walked(sqlite: Shelf) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(browser_of(sqlite).get(f"/walkthrough/{SLUG}.json").body)
    return found


def test_the_steps_are_the_phases(walked: dict[str, Any]) -> None:
    phases = [step["phase"] for step in walked["steps"]]
    assert phases == ["extracted", "filtered", "scrubbed", "final", "outcome", "verdict"]


def test_the_counts_of_a_step_follow_from_the_step_before(walked: dict[str, Any]) -> None:
    for before, after in zip(walked["steps"][:3], walked["steps"][1:4], strict=True):
        changed = [event for event in after["events"] if event["changed_here"]]
        assert len(changed) == after["removed"] + after["added"]
        active = {event["id"] for event in before["events"] if event["state"] == "active"}
        still = {event["id"] for event in after["events"] if event["state"] == "active"}
        assert active - still == {event["id"] for event in changed if event["state"] != "active"} & active


def test_it_ends_in_the_verdict_of_explain(walked: dict[str, Any]) -> None:
    verdict = sample_verdict(SLUG)
    assert walked["headline"]["outcome"] == verdict.outcome.value
    facts = {fact["name"]: fact["value"] for fact in walked["steps"][4]["facts"]}
    assert verdict.root_cause is not None
    assert facts["root symptom"] == verdict.root_cause.symptom


def test_every_sample_is_there_with_its_story() -> None:
    samples = sample_cases(sample_folder())
    assert {sample.slug for sample in samples} == {path.name for path in sample_folder().iterdir()}
    assert samples[0].slug == SLUG
    assert all(sample.story and "[provenance" not in sample.story for sample in samples)


def test_an_unknown_sample_or_step_is_refused(sqlite: Shelf) -> None:
    browser = browser_of(sqlite)
    assert browser.get("/walkthrough/none").status == 404
    assert browser.get(f"/walkthrough/{SLUG}?step=none").status == 422
