from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from attribution_lib.events.event import Clock
from attribution_lib.text.stamps import (
    CALENDAR,
    EPOCH,
    GLOG,
    MONTH_DAY,
    NAMED,
    UPTIME,
    US_DATE,
    Stamp,
    entry_stamp,
    read_calendar,
    read_epoch,
    read_month_day,
    read_named,
    read_uptime,
    stamp_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def micros(  # noqa: PLR0913, PLR0917 - the parts of a time
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> int:
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1_000_000


NOON = micros(2026, 1, 5, 10, 11, 12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-05T10:11:12Z", NOON),
        ("2026-01-05t10:11:12z", NOON),
        ("2026-01-05 10:11:12Z", NOON),
        ("2026-01-05T10:11:12.5Z", NOON + 500_000),
        ("2026-01-05T10:11:12.123456789Z", NOON + 123_456),
        ("2026-01-05T10:11:12.9999999999999999Z", NOON + 999_999),
        ("2026-01-05T12:11:12+02:00", NOON),
        ("2026-01-05T12:11:12+0200", NOON),
        ("2026-01-04T23:41:12-10:30", NOON),
        ("2026-01-05T10:11:60Z", NOON + 48_000_000),
        ("2024-02-29T00:00:00Z", micros(2024, 2, 29)),
        ("1767607872123456789", 1_767_607_872_123_456),
        ("999", 0),
        ("0", 0),
    ],
)
def test_an_entry_stamp_is_read_as_microseconds_utc(text: str, expected: int) -> None:
    assert entry_stamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-01-05T10:11:12",
        "2026-01-05",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T10:61:00Z",
        "2026-01-05T10:11:61Z",
        "2026-01-05T10:11:12+24:00",
        "0000-01-05T10:11:12Z",
        " 2026-01-05T10:11:12Z",
        "2026-01-05T10:11:12Z ",
        "-5",
        "1.5",
        "1e18",
        "9" * 21,
        "1" * 400,
        "٢٠٢٦",
    ],
)
def test_what_is_no_entry_stamp_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match=r"^time stamp '.*' (is neither RFC 3339|does not exist|lies beyond)"):
        entry_stamp(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-05T10:11:12.123456789Z", Stamp(NOON + 123_456, Clock.UTC)),
        ("2026-01-05 10:11:12,5", Stamp(NOON + 500_000, Clock.LOCAL)),
        ("1767607872", Stamp(NOON, Clock.UTC)),
        ("1767607872.25", Stamp(NOON + 250_000, Clock.UTC)),
        ("1767607872123", Stamp(NOON + 123_000, Clock.UTC)),
        ("1767607872123456", Stamp(NOON + 123_456, Clock.UTC)),
        ("1767607872123456789", Stamp(NOON + 123_456, Clock.UTC)),
        ("12", None),
        ("2026-13-05T10:11:12Z", None),
        ("soon", None),
    ],
)
def test_a_field_of_a_structured_line_tells_its_unit_by_its_length(text: str, expected: Stamp | None) -> None:
    assert stamp_of(text) == expected


@pytest.mark.parametrize(
    ("fragment", "reader", "text", "expected"),
    [
        (CALENDAR, read_calendar, "2021/09/02 14:20:31", Stamp(micros(2021, 9, 2, 14, 20, 31), Clock.LOCAL)),
        (CALENDAR, read_calendar, "2023-06-03_22:45:52", Stamp(micros(2023, 6, 3, 22, 45, 52), Clock.LOCAL)),
        (CALENDAR, read_calendar, "20260105-10:11:12.008", Stamp(NOON + 8_000, Clock.LOCAL)),
        (CALENDAR, read_calendar, "2026-01-05 10:11:12 UTC", Stamp(NOON, Clock.UTC)),
        (CALENDAR, read_calendar, "2026-01-05 10:11:12 -0500", Stamp(NOON + 5 * 3_600_000_000, Clock.UTC)),
        (CALENDAR, read_calendar, "2026-02-30 10:11:12", None),
        (CALENDAR, read_calendar, "2026-01-05T10:11:12+99:00", None),
        (US_DATE, read_calendar, "01/05/26 | 10:11:12 UTC", Stamp(NOON, Clock.UTC)),
        (US_DATE, read_calendar, "25/05/2026 10:11:12", None),
        (NAMED, read_named, "Feb 29 10:11:12", Stamp(micros(1972, 2, 29, 10, 11, 12), Clock.YEARLESS)),
        (NAMED, read_named, "Mon Jan  5 10:11:12 UTC 2026", Stamp(NOON, Clock.UTC)),
        (NAMED, read_named, "Mon Jan  5 10:11:12 PST 2026", Stamp(NOON, Clock.LOCAL)),
        (NAMED, read_named, "Jun 31 10:11:12", None),
        (MONTH_DAY, read_month_day, "01-05 10:11:12", Stamp(micros(1972, 1, 5, 10, 11, 12), Clock.YEARLESS)),
        (MONTH_DAY, read_month_day, "23/10 10:11:12", None),
        (GLOG, read_month_day, "E105 10:11:12.5", Stamp(micros(1972, 1, 5, 10, 11, 12) + 500_000, Clock.YEARLESS)),
        (GLOG, read_month_day, "I1005 10:11:12", Stamp(micros(1972, 10, 5, 10, 11, 12), Clock.YEARLESS)),
        (GLOG, read_month_day, "I20260105 10:11:12", Stamp(NOON, Clock.LOCAL)),
        (UPTIME, read_uptime, "5234.123456", Stamp(5_234_123_456, Clock.UPTIME)),
        (EPOCH, read_epoch, "1767607872.1", Stamp(NOON + 100_000, Clock.UTC)),
    ],
)
def test_a_stamp_is_kept_as_it_was_written(
    fragment: str, reader: Callable[[re.Match[str]], Stamp | None], text: str, expected: Stamp | None
) -> None:
    match = re.fullmatch(fragment, text)
    assert match is not None
    assert reader(match) == expected
