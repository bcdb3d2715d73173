"""Time stamps as logs write them, turned into µs on a clock.

The fragments (``CALENDAR``, ``NAMED``, …) are pieces of regular expressions with fixed group names; the reader of the
same name turns a match into a :class:`Stamp`. A stamp is kept as read: LOCAL as if it were UTC, YEARLESS in 1972 (a
leap year, so 29 February exists), UPTIME as µs since boot. Nothing here knows a time zone, a job or today's date.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from attribution_lib.events.event import Clock

__all__ = [
    "CALENDAR",
    "CLOCK_TIME",
    "EPOCH",
    "GLOG",
    "MONTH_DAY",
    "NAMED",
    "UPTIME",
    "US_DATE",
    "WEEKDAY",
    "Stamp",
    "entry_stamp",
    "read_calendar",
    "read_epoch",
    "read_month_day",
    "read_named",
    "read_uptime",
    "stamp_of",
]

YEARLESS_YEAR = 1972

CLOCK_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,12}))?"
_ZONE = r"(?: ?(?P<zone>[Zz]\b|UTC\b|GMT\b|[+-]\d\d:?\d\d(?!\d)))?"
CALENDAR = (
    r"(?P<calendar>(?P<year>\d{4})(?P<dash>[-/]?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)(?:[Tt _]|-(?=\d\d:))"
    rf"{CLOCK_TIME}{_ZONE})"
)
"""``2026-06-02T22:10:47.114Z``, ``2026-06-15 01:12:03,501``, ``2021/09/02 14:20:31``, ``20260423-09:58:50.008``."""
US_DATE = rf"(?P<calendar>(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{{4}}|\d\d)(?: \| |[ -]){CLOCK_TIME}{_ZONE})"
"""``06/20/2026-10:00:00``; the IPMI event log's ``12/24/2022 | 13:58:36``."""
MONTH_DAY = rf"(?P<month>\d\d)[-/](?P<day>\d\d) {CLOCK_TIME}"
"""vLLM's ``08-20 04:11:20``, mmengine's ``12/09 06:49:23``: no year."""
_MONTH_NAME = r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
NAMED = (
    rf"(?:{WEEKDAY} )?{_MONTH_NAME} {{1,2}}(?P<day>\d{{1,2}}) (?:(?P<year>\d{{4}}) )?{CLOCK_TIME}"
    r"(?: (?:(?P<zone>[A-Z]{2,5}) )?(?P<late_year>(?:19|20)\d\d)\b)?"
)
"""``Jan  5 10:11:12``, ``Jan 05 2026 10:11:12``, ``Mon Jan  5 10:11:12 2026``, ``Fri Jun 12 08:31:40 UTC 2026``."""
GLOG = rf"(?P<severity>[IWEFD])(?P<year>20\d\d(?=\d{{4}} ))?(?P<month>\d{{1,2}})(?P<day>\d\d) {CLOCK_TIME}"
"""``E0601 03:14:02.110204``; c10's ``E620 15:34:12.110204481`` (month unpadded); glog with year ``I20260601 …``."""
EPOCH = r"(?P<epoch>[12]\d{9})(?:\.(?P<fraction>\d{1,9})\d*)?"
UPTIME = r"(?P<uptime>\d{1,9})(?:\.(?P<fraction>\d{1,9}))?"

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_UTC, _LOCAL, _UPTIME = Clock.UTC, Clock.LOCAL, Clock.UPTIME
_DAY_OF_EPOCH = date(1970, 1, 1).toordinal()
_LAST_SECOND_OF_MINUTE = 60  # a leap second is written :60 (RFC 3339 §5.6) and read as the following second
_END_OF_TIME = (date.max.toordinal() + 1 - _DAY_OF_EPOCH) * 86_400 * 1_000_000
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):?(\d\d))", re.ASCII
)
_NANOSECONDS = re.compile(r"\d{1,21}", re.ASCII)
_LOOSE_CALENDAR = re.compile(CALENDAR, re.ASCII)
_LOOSE_US_DATE = re.compile(US_DATE, re.ASCII)
_LOOSE_EPOCH = re.compile(r"(?P<epoch>\d{10})(?P<more>(?:\d{3}){0,3})(?:\.(?P<fraction>\d{1,9})\d*)?", re.ASCII)


class Stamp(NamedTuple):
    """A time as it was written: µs on ``clock``."""

    micros: int
    clock: Clock


def entry_stamp(text: str) -> int:
    """The stamp of a log entry in µs UTC.

    Accepts RFC 3339 with any number of fraction digits (cut to µs) and epoch nanoseconds as decimal digits. Raises
    ValueError for anything else: a missing zone, a date that does not exist, surrounding blanks.
    """
    problem = "is neither RFC 3339 with a zone nor epoch nanoseconds"
    match = _RFC3339.fullmatch(text)
    if match is not None:
        zulu, sign, offset_hours, offset_minutes = match.group(8, 9, 10, 11)
        try:
            micros = _micros(*match.group(1, 2, 3, 4, 5, 6, 7))
            return micros if zulu else micros - _offset(sign, offset_hours, offset_minutes)
        except ValueError as error:
            problem = f"does not exist: {error}"
    elif _NANOSECONDS.fullmatch(text):
        micros = int(text) // 1000
        if micros < _END_OF_TIME:
            return micros
        problem = "lies beyond the year 9999 when read as epoch nanoseconds"
    msg = f"time stamp {text[:64]!r} {problem}"
    raise ValueError(msg)


def stamp_of(text: str) -> Stamp | None:
    """The stamp that a whole field of a structured line holds: ISO 8601 with or without zone, or an epoch number.

    Ten digits are seconds, thirteen milliseconds, sixteen microseconds, nineteen nanoseconds. None if it is none.
    """
    match = _LOOSE_EPOCH.fullmatch(text)
    if match is not None:
        digits = match["more"] or (match["fraction"] or "")
        return Stamp(int(match["epoch"]) * 1_000_000 + _fraction(digits), Clock.UTC)
    match = _LOOSE_CALENDAR.fullmatch(text)
    return None if match is None else read_calendar(match)


def read_calendar(match: re.Match[str]) -> Stamp | None:
    """Reads ``CALENDAR`` and ``US_DATE``; None if there is no such day or time. Without a zone the clock is LOCAL."""
    return _calendar(match["calendar"])


@lru_cache(maxsize=1024)
def _calendar(text: str) -> Stamp | None:
    """Remembered, because a burst of messages comes within one second, and of many writers within one millisecond."""
    match = (_LOOSE_US_DATE if text[2] == "/" else _LOOSE_CALENDAR).fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.group(
        "year", "month", "day", "hour", "minute", "second", "fraction", "zone"
    )
    try:
        micros = _micros(year, month, day, hour, minute, second, fraction)
        if zone is None:
            return _stamp(micros, _LOCAL)
        if zone[0] in "+-":
            micros -= _offset(zone[0], zone[1:3], zone[-2:])
    except ValueError:
        return None
    return _stamp(micros, _UTC)


def read_named(match: re.Match[str]) -> Stamp | None:
    """Reads ``NAMED``: YEARLESS without a year, UTC if it says so, else LOCAL (a zone's letters are ambiguous)."""
    month, day, hour, minute, second, fraction = match.group("month", "day", "hour", "minute", "second", "fraction")
    year, late_year, zone = match.group("year", "late_year", "zone")
    year = year or late_year
    try:
        micros = _micros(year or YEARLESS_YEAR, _MONTHS[month], day, hour, minute, second, fraction)
    except ValueError:
        return None
    if year is None:
        return Stamp(micros, Clock.YEARLESS)
    return Stamp(micros, Clock.UTC if zone in {"UTC", "GMT"} else Clock.LOCAL)


def read_month_day(match: re.Match[str]) -> Stamp | None:
    """Reads ``MONTH_DAY`` and ``GLOG`` (LOCAL where glog writes the year, else YEARLESS)."""
    month, day, hour, minute, second, fraction = match.group("month", "day", "hour", "minute", "second", "fraction")
    year = match["year"] if "year" in match.re.groupindex else None
    try:
        micros = _micros(year or YEARLESS_YEAR, month, day, hour, minute, second, fraction)
    except ValueError:
        return None
    return Stamp(micros, Clock.LOCAL if year else Clock.YEARLESS)


def read_epoch(match: re.Match[str]) -> Stamp:
    """Reads ``EPOCH``."""
    return Stamp(int(match["epoch"]) * 1_000_000 + _fraction(match["fraction"]), Clock.UTC)


def read_uptime(match: re.Match[str]) -> Stamp:
    """Reads ``UPTIME``: µs since the host booted."""
    uptime, fraction = match.group("uptime", "fraction")
    return _stamp(int(uptime) * 1_000_000 + _fraction(fraction), _UPTIME)


def _stamp(micros: int, clock: Clock) -> Stamp:
    """As ``Stamp``, without the constructor of named tuples, which is slow."""
    return tuple.__new__(Stamp, (micros, clock))


def _fraction(digits: str | None) -> int:
    if not digits:
        return 0
    return int(digits if len(digits) == 6 else digits[:6].ljust(6, "0"))  # noqa: PLR2004 - digits of a µs


@lru_cache(maxsize=64)
def _offset(sign: str, hours: str, minutes: str) -> int:
    """µs to subtract; raises ValueError beyond ±23:59, which no zone has."""
    if int(hours) > 23 or int(minutes) > 59:  # noqa: PLR2004 - the clock's own limits
        msg = f"no zone is {sign}{hours}:{minutes} away from UTC"
        raise ValueError(msg)
    micros = (int(hours) * 60 + int(minutes)) * 60_000_000
    return -micros if sign == "-" else micros


def _micros(  # noqa: PLR0913, PLR0917 - the parts of a time, in their order
    year: str | int,
    month: str | int,
    day: str,
    hour: str,
    minute: str,
    second: str,
    fraction: str | None,
) -> int:
    """µs since the epoch of a civil time; raises ValueError if it does not exist."""
    seconds = int(second)
    if seconds > _LAST_SECOND_OF_MINUTE:
        msg = f"no such time of day: {hour}:{minute}:{second}"
        raise ValueError(msg)
    micros = _minute(year, month, day, hour, minute) + seconds * 1_000_000
    return micros + _fraction(fraction) if fraction else micros


@lru_cache(maxsize=1024)
def _minute(year: str | int, month: str | int, day: str, hour: str, minute: str) -> int:
    """µs since the epoch; raises ValueError if there is no such day, or no such time of day. Years may have two digits.

    Lines come in the order of time: nearly all are in a minute in which others are.
    """
    hours, minutes = int(hour), int(minute)
    if hours > 23 or minutes > 59:  # noqa: PLR2004 - the clock's own limits
        msg = f"no such time of day: {hour}:{minute}"
        raise ValueError(msg)
    years = int(year) if len(str(year)) > 2 else 2000 + int(year)  # noqa: PLR2004 - a two-digit year
    days = date(years, int(month), int(day)).toordinal() - _DAY_OF_EPOCH
    return ((days * 24 + hours) * 60 + minutes) * 60_000_000
