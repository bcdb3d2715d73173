"""Whether logs whose times have no offset are in another time zone than the job says: all of them miss its window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from attribution_lib.events.event import EventType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo

__all__ = ["zone_note"]

_SECOND = 1_000_000
_HALF_HOUR = 1_800 * _SECOND
_FURTHEST = 28
"""Half hours: no zone is further than 14 hours from UTC."""
_ZONES = frozenset({*range(-24, _FURTHEST + 1, 2), 7, 9, 11, 13, 19, 21, -7, -19})
"""Offsets that places have, in half hours: whole hours, and Tehran, Kabul, India, Yangon, Adelaide and few more."""
_CLOSE = 900 * _SECOND
"""The last line of a job comes about when the job ends."""
_ADVICE = "Times without an offset were read in {zone}; say another by timezone = {key} in job.toml, or --timezone"


def zone_note(stream: EventStream, outside: Sequence[Event], job: JobInfo) -> str:
    """A hint where every line with a time, and no line's own offset, lies outside; empty where any lies inside."""
    left = frozenset(map(id, outside))
    lines = list(filter(_is_timed_line, outside))
    others = (event for events in stream.lists(active=False) for event in events if id(event) not in left)
    if not lines or any(map(_is_timed_line, others)):
        return ""
    first = min(event.first.timestamp or 0 for event in lines)
    last = max(event.last.timestamp or 0 for event in lines)
    if _fits(first, last, 0, job):  # out for another reason
        return ""
    count = sum(event.occurrences for event in lines)
    told = f"All {count} events with a time lie" if count > 1 else "The only event with a time lies"
    shift, key = _shift(first, last, job), '"Area/City"'
    if shift is not None:
        zone = _offset(job, last) + shift
        key = _named(zone) or key
        told += f" outside the job's window, and inside if read in {_utc(zone)}, {_hours(shift)}"
    elif _within_reach(first, last, job):
        told += " outside the job's window"
    else:
        return ""
    return f"{told}. {_ADVICE.format(zone=job.timezone, key=key)}"


def _is_timed_line(event: Event) -> bool:
    told = event.timestamp is not None and event.line_num is not None
    return told and event.event_type not in (EventType.BOOT, EventType.MAPPING)


def _shift(first: int, last: int, job: JobInfo) -> int | None:
    """How many half hours the lines are late: so that the last comes at the job's end, or what fits alone."""
    own = _offset(job, last)
    shifts = [zone - own for zone in sorted(_ZONES) if zone != own and _fits(first, last, zone - own, job)]
    if job.end is not None:
        at_end = [shift for shift in shifts if abs(last - shift * _HALF_HOUR - job.end) <= _CLOSE]
        shifts = at_end[:1] or shifts
    return shifts[0] if len(shifts) == 1 else None


def _fits(first: int, last: int, shift: int, job: JobInfo) -> bool:
    low = job.start is None or first - shift * _HALF_HOUR >= job.start - job.margin_before * _SECOND
    return low and (job.end is None or last - shift * _HALF_HOUR <= job.end + job.margin_after * _SECOND)


def _within_reach(first: int, last: int, job: JobInfo) -> bool:
    """Whether any zone at all could bring some of the lines into the window."""
    reach = _FURTHEST * _HALF_HOUR
    return (job.start is None or last >= job.start - reach) and (job.end is None or first <= job.end + reach)


def _offset(job: JobInfo, at: int) -> int:
    """Half hours of the job's own zone."""
    moment = datetime.fromtimestamp(at // _SECOND, UTC).astimezone(ZoneInfo(job.timezone))
    return (moment.utcoffset() or timedelta()) // timedelta(minutes=30)


def _hours(shift: int) -> str:
    return f"{abs(shift) / 2:g} h {'earlier' if shift > 0 else 'later'}"


def _utc(zone: int) -> str:
    return f"UTC{'-' if zone < 0 else '+'}{abs(zone) // 2:02}:{abs(zone) % 2 * 30:02}"


def _named(zone: int) -> str:
    """The name of a whole-hour zone, which counts the other way round; empty where only a place can be named."""
    return "" if zone % 2 else f'"Etc/GMT{-zone // 2:+}"'
