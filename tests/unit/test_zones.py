"""Logs in another time zone than the job's are told from logs of another time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine_kit import applog, engine_of, syslog, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

START, END = "2026-06-01T03:00:00Z", "2026-06-01T04:00:00Z"


@pytest.fixture
def engine(tmp_path: Path) -> RuleEngine:
    return engine_of(tmp_path)


@pytest.mark.parametrize(
    ("stamps", "zone", "key"),
    [
        (("2026-06-01 12:50:00", "2026-06-01 12:59:30"), "UTC+09:00, 9 h earlier", '"Etc/GMT-9"'),
        (("2026-05-31 20:50:00", "2026-05-31 20:59:30"), "UTC-07:00, 7 h later", '"Etc/GMT+7"'),
        (("2026-06-01 09:10:00", "2026-06-01 09:29:00"), "UTC+05:30, 5.5 h earlier", '"Area/City"'),
        (("Jun  1 12:50:00", "Jun  1 12:59:30"), "UTC+09:00, 9 h earlier", '"Etc/GMT-9"'),
    ],
)
def test_logs_that_miss_the_window_by_whole_or_half_hours_name_their_zone(
    engine: RuleEngine, stamps: tuple[str, ...], zone: str, key: str
) -> None:
    lines = [f"{stamp} {host}CODE RAISED" for stamp in stamps for host in ("n1 x: " if stamp[0] == "J" else "",)]
    source = syslog if stamps[0][0] == "J" else applog
    (note,) = verdict_of(engine, source(*lines), start=START, end=END).notes
    assert f"outside the job's window, and inside if read in {zone}" in note
    assert f"timezone = {key} in job.toml, or --timezone" in note


def test_the_zone_of_the_job_itself_is_reckoned_with(engine: RuleEngine) -> None:
    log = applog("2026-06-01 03:59:00 CODE RAISED")
    (note,) = verdict_of(engine, log, start=START, end=END, timezone="Asia/Tokyo").notes
    assert "in UTC+00:00, 9 h later" in note
    assert "were read in Asia/Tokyo" in note


def test_the_named_zone_brings_the_lines_back(engine: RuleEngine) -> None:
    log = applog("2026-06-01 12:59:30 CODE RAISED")
    found = verdict_of(engine, log, start=START, end=END, timezone="Etc/GMT-9")
    assert (found.evidence.outside_window, found.notes) == (0, [])


def test_where_several_zones_fit_none_is_named(engine: RuleEngine) -> None:
    log = applog("2026-06-01 12:20:00 CODE RAISED")
    (note,) = verdict_of(engine, log, start="2026-06-01T01:00:00Z", end="2026-06-01T04:00:00Z").notes
    assert "inside if read" not in note
    assert "timezone = " in note


@pytest.mark.parametrize(
    "lines",
    [
        ("2026-06-01T12:59:30Z CODE RAISED",),  # says its offset itself
        ("2026-06-01 12:59:30 CODE RAISED", "2026-06-01 03:59:00 PART BROKE"),  # another is inside
        ("2026-05-20 12:59:30 CODE RAISED",),  # of another day altogether
        ("CODE RAISED",),
    ],
)
def test_nothing_is_said_where_a_zone_explains_nothing(engine: RuleEngine, lines: tuple[str, ...]) -> None:
    assert verdict_of(engine, applog(*lines), start=START, end=END).notes == []


def test_nothing_is_said_without_a_window(engine: RuleEngine) -> None:
    assert verdict_of(engine, applog("2026-06-01 12:59:30 CODE RAISED")).notes == []
