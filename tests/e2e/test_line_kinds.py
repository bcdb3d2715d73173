"""Single real lines: a labelled fault is read as one of its kind's symptoms, a benign line is never bad."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from functools import cache

import pytest

from attribution_lib.events.event import EventType
from attribution_lib.observation import Source
from attribution_lib.rules.matching import LineMatcher, MatchedEvent
from sample_cases import ROOT, bundled_engine

FAULT_TYPES = (EventType.BAD_NODE, EventType.INTERESTING_NODE, EventType.JOB_STOP)
SHARE = 0.99


@cache
def kinds() -> dict[str, frozenset[str]]:
    """{expected_kind: symptoms that are the right reading}."""
    rows = tomllib.loads((ROOT / "samples" / "line_kinds.toml").read_text(encoding="utf-8"))["kind"]
    names = Counter(row["expected_kind"] for row in rows)
    assert [name for name, count in names.items() if count > 1] == []
    return {row["expected_kind"]: frozenset(row["symptoms"]) for row in rows}


@cache
def labelled() -> tuple[dict[str, str], ...]:
    with (ROOT / "samples" / "lines.tsv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def read(row: dict[str, str]) -> list[MatchedEvent]:
    matched = LineMatcher(bundled_engine(), Source(row["source"])).lines(row["line"].encode())
    return [event for line in matched for event in line.events]


def is_read_right(row: dict[str, str]) -> bool:
    wanted = kinds().get(row["expected_kind"], frozenset())
    code = row["expected_code"]
    return any(
        event.event_type in FAULT_TYPES
        and event.symptom in wanted
        and (not code or code in (event.symptom or "") or code in event.captures.values())
        for event in read(row)
    )


def test_labelled_faults_are_read_as_what_they_are() -> None:
    faults = [row for row in labelled() if row["is_fault"] == "1"]
    wrong = [row["id"] for row in faults if not is_read_right(row)]
    assert len(wrong) <= (1 - SHARE) * len(faults), wrong


@pytest.mark.parametrize("row", [row for row in labelled() if row["is_fault"] == "0"], ids=lambda row: row["id"])
def test_a_benign_line_is_never_bad(row: dict[str, str]) -> None:
    assert [event.rule for event in read(row) if event.event_type == EventType.BAD_NODE] == []


def test_every_kind_of_fault_has_its_row_and_every_symptom_exists() -> None:
    assert {row["expected_kind"] for row in labelled() if row["is_fault"] == "1"} <= set(kinds())
    registry = bundled_engine().registry
    assert sorted({name for names in kinds().values() for name in names if name not in registry}) == []
