"""Times to places along an axis on which a burst of seconds and a gap of hours both read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING

from dashboard.picture.model import DrawnBand, DrawnTick

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Axis", "duration", "make_axis", "seconds"]

_TICK_ROOM = 74.0
"""Units that a tick's text needs."""
_GAP_NAMED = 60.0
"""Seconds from which on a gap between two times is named."""
_GAP_ROOM = 84.0
_EDGE = 12.0
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Axis:
    """Places of the times that it was made of; ``at(None)`` is the strip for marks without a time."""

    places: dict[float, float]
    untimed_x: float
    ticks: tuple[DrawnTick, ...]
    bands: tuple[DrawnBand, ...]
    compressed: bool

    def at(self, when: float | None) -> float:
        """Where a time stands."""
        return self.untimed_x if when is None else self.places[when]


def seconds(text: str) -> float | None:
    """RFC 3339 as seconds since the epoch; None for what is empty or no time."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def make_axis(times: Iterable[float], left: float, width: float, untimed: float) -> Axis:
    """An axis over these times from ``left`` on; the last ``untimed`` units of ``width`` are for what has no time.

    Neighbours stand apart by the logarithm of what lies between them.
    """
    distinct = sorted(set(times))
    room = width - untimed - 2 * _EDGE
    weights = [0.35 + log2(1.0 + later - earlier) for earlier, later in pairwise(distinct)]
    whole = sum(weights) or 1.0
    places, x = {}, left + _EDGE
    for when, weight in zip(distinct, [*weights, 0.0], strict=False):
        places[when] = x
        x += weight / whole * room
    if len(distinct) == 1:
        places[distinct[0]] = left + room / 4
    bands = tuple(_gaps(places))
    if untimed:
        text = "no time known" if distinct else "no times known: in the order of the log"
        bands = (*bands, DrawnBand(left + width - untimed, untimed, text, untimed=True))
    untimed_x = left + width - untimed + 16.0
    ticks = tuple(_ticks(places, left + width - untimed - _EDGE if untimed else left + width))
    return Axis(places, untimed_x, ticks, bands, compressed=len(distinct) > 2)  # noqa: PLR2004 -- two times are always in proportion


def _ticks(places: dict[float, float], end: float) -> Iterable[DrawnTick]:
    """A tick where its text has room; the first one of a day says which day."""
    last, day = float("-inf"), ""
    for when, x in places.items():
        moment = datetime.fromtimestamp(when, tz=UTC)
        today = moment.date().isoformat()
        text = moment.strftime("%H:%M:%S") if day in ("", today) else moment.strftime("%m-%d %H:%M")
        middle = min(x, end - _TICK_ROOM / 2 + 8)
        if middle - last < _TICK_ROOM:
            continue
        last, day = middle, today
        yield DrawnTick(x, middle, text)


def _gaps(places: dict[float, float]) -> Iterable[DrawnBand]:
    for (earlier, x1), (later, x2) in pairwise(places.items()):
        if later - earlier >= _GAP_NAMED and x2 - x1 >= _GAP_ROOM:
            yield DrawnBand(x1, x2 - x1, f"+{duration(later - earlier)}", untimed=False)


def duration(length: float) -> str:
    """Seconds as a person says them: ``2 h 13 min``."""
    whole = round(length)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s" if whole % _MINUTE else f"{whole // _MINUTE} min"
    if whole < _DAY:
        minutes = whole % _HOUR // _MINUTE
        return f"{whole // _HOUR} h {minutes} min" if minutes else f"{whole // _HOUR} h"
    hours = whole % _DAY // _HOUR
    return f"{whole // _DAY} d {hours} h" if hours else f"{whole // _DAY} d"
