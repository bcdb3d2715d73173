"""Judgements: shown with their agreement, exported as cases that the case reader takes."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint.case_files import read_job_file
from attribution_lib.taxonomy import Outcome
from attribution_service.errors import InvalidRequestError
from attribution_service.model import FeedbackJudgement, FeedbackRequest, VerdictKey
from dashboard.building.feedback import feedback_context
from dashboard.building.verdict import verdict_context
from dashboard.contexts.feedback import FeedbackFilters
from dashboard.site import Site
from dashboard_kit import Failure
from service_kit import START

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard.contexts.feedback import LabelledCase
    from dashboard_kit import Shelf

KEY = VerdictKey(cluster="c1", job_id="1")
EXPECTED_KEYS = {
    "terminal_state",
    "sub_domain",
    "root_symptom",
    "root_pattern",
    "bad_nodes",
    "origin",
    "why",
    "confidence",
}


def case_of(shelf: Shelf, request: FeedbackRequest, failure: Failure | None = None) -> LabelledCase:
    shelf.fill([failure or Failure("1", bad=("node-0001",))])
    shelf.reader.add_feedback(KEY, request)
    (case,) = feedback_context(Site(shelf.reader, lambda: START), FeedbackFilters()).cases
    return case


def test_judgements_are_shown_and_counted(shelf: Shelf) -> None:
    shelf.fill([Failure("1"), Failure("2", rule="Other"), Failure("3", cluster="c2")])
    for job, cluster, judgement in (
        ("1", "c1", "right"),
        ("1", "c1", "wrong"),
        ("2", "c1", "wrong"),
        ("3", "c2", "right"),
    ):
        shelf.now[0] += 1
        request = FeedbackRequest(judgement=FeedbackJudgement(judgement), comment=job)
        shelf.reader.add_feedback(VerdictKey(cluster=cluster, job_id=job), request)
    site = Site(shelf.reader, lambda: shelf.now[0])
    page = feedback_context(site, FeedbackFilters())
    assert [(entry.job_id, entry.judgement.value) for entry in page.entries] == [
        ("3", "right"),
        ("2", "wrong"),
        ("1", "wrong"),
        ("1", "right"),
    ]
    assert [(row.rule, row.agreement.share) for row in page.by_rule] == [("Other", 0.0), ("XID", 0.667)]
    assert (page.total, page.agreement.share, len(page.cases)) == (4, 0.5, 3)
    assert [entry.job_id for entry in feedback_context(site, FeedbackFilters(cluster="c2")).entries] == ["3"]
    assert feedback_context(site, FeedbackFilters(judgement="wrong")).total == 2
    shown = verdict_context(site, KEY).feedback
    assert [entry.judgement.value for entry in shown] == ["wrong", "right"]
    with pytest.raises(InvalidRequestError):
        feedback_context(site, FeedbackFilters(judgement="maybe"))


def test_a_right_verdict_becomes_a_whole_label(sqlite: Shelf, tmp_path: Path) -> None:
    case = case_of(sqlite, FeedbackRequest(judgement=FeedbackJudgement.RIGHT, comment='quoted "so"\nand\x00 so'))
    (tmp_path / "job.toml").write_text(case.job_toml)
    job = read_job_file(tmp_path / "job.toml")
    assert (job.job_id, job.cluster, job.nodes, job.user) == ("1", "c1", ("node-0001",), "user1")
    expected = tomllib.loads(case.expected_toml)
    assert set(expected) == EXPECTED_KEYS
    assert (expected["sub_domain"], expected["terminal_state"]) == ("hardware", "fail")
    assert (expected["bad_nodes"], expected["confidence"]) == (["node-0001"], "high")
    assert expected["why"] == 'quoted "so"\nand\x00 so'
    assert re.search(expected["root_pattern"], "NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen off the bus.")
    assert case.slug == "c1-1-0"
    assert "applog.log" in case.note
    assert "root_symptom" not in case.note


def test_a_wrong_verdict_takes_what_the_judgement_says(sqlite: Shelf) -> None:
    said = FeedbackRequest(judgement=FeedbackJudgement.WRONG, outcome=Outcome.PCIE, node="node-0009", comment="riser")
    case = case_of(sqlite, said)
    expected = tomllib.loads(case.expected_toml)
    assert (expected["sub_domain"], expected["bad_nodes"], expected["why"]) == ("hardware", ["node-0009"], "riser")
    assert (expected["root_symptom"], expected["root_pattern"], expected["confidence"]) == ("", "", "medium")
    assert "root_symptom and root_pattern" in case.note


def test_what_a_judgement_leaves_open_is_left_open(sqlite: Shelf) -> None:
    case = case_of(sqlite, FeedbackRequest(judgement=FeedbackJudgement.WRONG))
    expected = tomllib.loads(case.expected_toml)
    assert (expected["sub_domain"], expected["bad_nodes"]) == ("", [])
    for point in ("the right sub_domain", "root_symptom and root_pattern", "bad_nodes"):
        assert point in case.note


def test_an_application_has_no_bad_nodes(sqlite: Shelf) -> None:
    said = FeedbackRequest(judgement=FeedbackJudgement.WRONG, outcome=Outcome.GPU_OUT_OF_MEMORY)
    expected = tomllib.loads(case_of(sqlite, said).expected_toml)
    assert (expected["sub_domain"], expected["bad_nodes"]) == ("application", [])
