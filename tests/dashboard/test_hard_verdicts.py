"""Verdicts that are hard to show: hostile text, ten thousand nodes, evidence that was not read, many pairs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from attribution_lib.taxonomy import Outcome
from dashboard_kit import Failure
from http_kit import ENGINE
from pages_kit import HOSTILE, hostile_verdict, huge_verdict, pairs_verdict, partial_verdict
from site_kit import browser_of

if TYPE_CHECKING:
    from dashboard_kit import Shelf

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("kind", range(len(HOSTILE)))
def test_hostile_text_is_written_out_and_escaped(sqlite: Shelf, kind: int) -> None:
    sqlite.put(hostile_verdict(ENGINE(), kind))
    browser = browser_of(sqlite)
    for address in (f"/verdict/c1/hostile-{kind}/0", "/", "/fleet?days=60&until=2026-06-05"):
        text = browser.page(address)
        assert not FORBIDDEN.search(text)
        assert not re.search(r"<script>|<img|<iframe|javascript:window[^<]*\"", text)
        assert len(text) < 200_000
    page = browser.page(f"/verdict/c1/hostile-{kind}/0")
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in page
    assert "\\u202e" in page
    assert "\\x1b" in page


def test_hostile_text_stays_whole_in_the_raw_verdict(sqlite: Shelf) -> None:
    made = hostile_verdict(ENGINE())
    sqlite.put(made)
    raw = browser_of(sqlite).get("/verdict/c1/hostile-0/0/raw.json").body.decode()
    assert type(made).model_validate_json(raw) == made


def test_a_part_that_failed_on_a_node_that_no_line_names_is_not_said_to_be_nowhere(sqlite: Shelf) -> None:
    sqlite.fill(
        [
            Failure("1", bad=(), nodes=("n1", "n2")),
            Failure("2", bad=(), outcome=Outcome.GPU_OUT_OF_MEMORY, symptom="CUDA out of memory"),
        ]
    )
    browser = browser_of(sqlite)
    assert "Node not known" in browser.page("/verdict/c1/1/0")
    assert "No node to inspect" in browser.page("/verdict/c1/2/0")


def test_a_verdict_on_ten_thousand_nodes_is_a_page_of_bounded_size(sqlite: Shelf) -> None:
    sqlite.put(huge_verdict(ENGINE()))
    text = browser_of(sqlite).page("/verdict/c1/huge-1/0")
    assert len(text.encode()) <= 1_000_000
    (picture,) = re.findall(r'<svg viewBox="0 0 1160.*?</svg>', text, re.DOTALL)
    assert 50 <= len(re.findall(r"<[a-z]", picture)) <= 2_000
    assert "10,000: " in text
    assert re.search(r"and 9,9\d\d more", text)


def test_what_was_not_read_stands_above_the_answer(sqlite: Shelf) -> None:
    sqlite.put(partial_verdict(ENGINE()))
    text = browser_of(sqlite).page("/verdict/c1/partial-1/0")
    assert text.index('class="alarm"') < text.index('class="answers"')
    assert "loki-prod" in text[text.index('class="alarm"') : text.index('class="answers"')]
    assert text.count('class="coverage-missing"') == 2


def test_pairs_are_a_matrix_of_those_that_report_and_those_that_are_lost(sqlite: Shelf) -> None:
    sqlite.put(pairs_verdict(ENGINE()))
    text = browser_of(sqlite).page("/verdict/c1/pairs-1/0")
    (matrix,) = re.findall(r'<table class="matrix">.*?</table>', text, re.DOTALL)
    assert '<th scope="row">node-0007</th>' in matrix
    assert "heat-4" in matrix
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', matrix, re.DOTALL)
    assert all("heat-" in row for row in rows)
