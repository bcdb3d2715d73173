"""From stamps as read to UTC: the zone of the job, the year nearest the window, the boot time of a node.

No time is ever invented: a stamp that nothing can place becomes no time at all.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from attribution_lib.events.event import Clock, Event, EventType, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from attribution_lib.job.model import JobInfo

__all__ = ["ClockReference", "to_utc"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
YEARLESS_YEAR = 1972
"""Year-less stamps are held in this leap year."""


@dataclass(frozen=True, slots=True)
class ClockReference:
    """What stamps are converted with: the job as it is now and what the evidence says about boots and dates."""

    zone: ZoneInfo
    window: tuple[int | None, int | None]
    dated: Sequence[int] = ()
    """Times of entries with a full date, ascending; they place year-less stamps where the job has no window."""
    boots: Mapping[str | None, Sequence[int]] = field(default_factory=dict)
    """{node: boot times in µs UTC, ascending}."""

    @classmethod
    def of(cls, job: JobInfo, events: Iterable[Event]) -> ClockReference:
        """Collect the reference from a job and its events."""
        dated: list[int] = []
        boots: dict[str | None, list[int]] = {}
        zone = ZoneInfo(job.timezone)
        for event in events:
            if event.timestamp is not None and event.clock in (Clock.UTC, Clock.LOCAL):
                at = event.timestamp if event.clock is Clock.UTC else _local(event.timestamp, zone)
                dated.append(at)
            if event.event_type == EventType.BOOT:
                epoch = str(event.payload.get("epoch", ""))
                if epoch.isdigit():
                    boots.setdefault(event.node, []).append(int(epoch) * 1_000_000)
        for times in boots.values():
            times.sort()
        return cls(zone, (job.start, job.end), sorted(dated), boots)


def to_utc(event: Event, reference: ClockReference) -> None:
    """Convert every time of an event in place; what cannot be placed becomes None with clock ``none``."""
    convert = _converter(event, reference)
    if convert is None:
        return
    event.first, event.last = _span(convert, event.first, event.last)
    event.samples = tuple(
        sorted(
            (sample._replace(timestamp=_apply(convert, sample.timestamp)) for sample in event.samples),
            key=lambda sample: sample.order(),
        )
    )
    event.timestamp = _apply(convert, event.timestamp)
    minutes = event.width * 60_000_000
    times: dict[int, int] = {}
    for bucket, count in event.times.items():
        at = _apply(convert, bucket * minutes)
        if at is not None:
            times[at // minutes] = times.get(at // minutes, 0) + count
    event.times = times
    event.clock = Clock.UTC if event.timestamp is not None else Clock.NONE
    if event.timestamp is not None and event.first.timestamp is not None and event.first.timestamp < event.timestamp:
        event.timestamp = event.first.timestamp
        event.stream, event.line_num = event.first.stream, event.first.line_num


def _span(convert: Callable[[int], int | None], first: Position, last: Position) -> tuple[Position, Position]:
    ends = sorted(
        (position._replace(timestamp=_apply(convert, position.timestamp)) for position in (first, last)),
        key=lambda position: position.order(),
    )
    return ends[0], ends[1]


def _apply(convert: Callable[[int], int | None], value: int | None) -> int | None:
    return None if value is None else convert(value)


def _converter(event: Event, reference: ClockReference) -> Callable[[int], int | None] | None:
    if event.timestamp is None:
        return None
    match event.clock:
        case Clock.LOCAL:
            return lambda stamp: _local(stamp, reference.zone)
        case Clock.YEARLESS:
            return lambda stamp: _with_year(stamp, reference)
        case Clock.UPTIME:
            return lambda stamp: _since_boot(stamp, event.node, reference)
        case _:
            return None


def _local(stamp: int, zone: ZoneInfo) -> int:
    naive = _EPOCH + stamp * _MICROSECOND
    return (naive.replace(tzinfo=zone) - _EPOCH) // _MICROSECOND


def _with_year(stamp: int, reference: ClockReference) -> int | None:
    """The year that brings the stamp nearest to the window; without one, nearest to a dated entry."""
    moment = _EPOCH + stamp * _MICROSECOND
    start, end = reference.window
    if start is not None or end is not None:
        low = start if start is not None else end
        high = end if end is not None else start
        candidates = [_local(at, reference.zone) for at in _in_years(moment, _years_around(low, high))]
        return min(candidates, key=lambda at: (_distance(at, low, high), at), default=None)
    if not reference.dated:
        return None
    years = _years_around(reference.dated[0], reference.dated[-1])
    candidates = [_local(at, reference.zone) for at in _in_years(moment, years)]
    return min(candidates, key=lambda at: (_gap(at, reference.dated), at), default=None)


def _years_around(low: int | None, high: int | None) -> Sequence[int]:
    years = [(_EPOCH + at * _MICROSECOND).year for at in (low, high) if at is not None]
    return range(min(years) - 1, max(years) + 2)


def _in_years(moment: datetime, years: Iterable[int]) -> list[int]:
    found = []
    for year in years:
        try:
            found.append((moment.replace(year=year) - _EPOCH) // _MICROSECOND)
        except ValueError:  # 29 February in a common year
            continue
    return found


def _distance(at: int, low: int | None, high: int | None) -> int:
    if low is not None and at < low:
        return low - at
    return at - high if high is not None and at > high else 0


def _gap(at: int, dated: Sequence[int]) -> int:
    index = bisect_left(dated, at)
    near = dated[max(index - 1, 0) : index + 1]
    return min((abs(at - other) for other in near), default=0)


def _since_boot(stamp: int, node: str | None, reference: ClockReference) -> int | None:
    """Only one boot of that node may be known: with several nothing says which one the stamp counts from."""
    boots = reference.boots.get(node) or (reference.boots.get(None) if len(reference.boots) == 1 else None)
    return boots[0] + stamp if boots is not None and len(boots) == 1 else None
