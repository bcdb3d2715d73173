"""RFC 3339 instants as µs since the epoch, and back: the one form in which times cross the library's edge."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["format_instant", "instant_of", "parse_instant"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_LEAP_SECOND = 60


def parse_instant(text: str) -> int | None:
    """µs UTC of an RFC 3339 date-time; None when it is none or carries no offset. Digits below 1 µs are cut."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micros = int(f"{match.group(7) or '0':0<6}"[:6])
    offset = 0
    if match.group(9):
        hours, minutes = int(match.group(10)), int(match.group(11))
        if hours > 23 or minutes > 59:  # noqa: PLR2004 -- hours and minutes of RFC 3339's time-numoffset
            return None
        offset = (hours * 60 + minutes) * (-60 if match.group(9) == "-" else 60)
    leap = second == _LEAP_SECOND
    try:
        moment = datetime(year, month, day, hour, minute, second - leap, micros, tzinfo=UTC)
    except ValueError:
        return None
    micros = instant_of(moment) + (leap - offset) * 1_000_000
    return micros if _EARLIEST <= micros <= _LATEST else None


def instant_of(moment: datetime) -> int:
    """µs UTC of an aware ``datetime``."""
    return (moment - _EPOCH) // _MICROSECOND


def format_instant(micros: int) -> str:
    """RFC 3339 UTC with six digits: ``2026-06-01T03:14:02.000000Z``."""
    return (_EPOCH + micros * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")
