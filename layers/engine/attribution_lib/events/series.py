"""Mergeable summaries of one metric series: what remains of its samples once they have become an event.

A summary keeps every sample while there are at most 1,024 of them; beyond that, time is cut into at most 1,024 buckets
of equal power-of-two width and each keeps its first, last, smallest and greatest sample. Both are plain aggregates over
the set of samples, so summaries of any two parts of a series merge into the summary of the whole. Stretches of one
value at a regular interval (a healthy gauge, hour after hour) are written as one run.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MAX_POINTS", "SERIES_FOLD", "Point", "merge_summaries", "points_inside", "points_of", "summary_of"]

SERIES_FOLD = "series"
"""``Event.fold`` of a metric summary: its payload is merged and not chosen."""
_MAX_BUCKETS = 1_024
MAX_POINTS = 4 * _MAX_BUCKETS

Point = tuple[int, float]
"""(µs UTC, value); values are finite."""


def summary_of(labels: Mapping[str, str], samples: Iterable[Point]) -> dict[str, Any]:
    """The summary of a series: its labels, ``runs`` [start µs, step µs, count, value] and min/max/first/last points.

    Samples that are no finite number are left out. Empty ``runs`` mean that none was left.
    """
    # adding 0.0 turns -0.0 into 0.0: the two are equal and must not take turns
    points = _reduced(sorted({(at, value + 0.0) for at, value in samples if isfinite(value)}))
    return _payload(dict(labels), points)


def merge_summaries(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of both parts of one series."""
    points = _reduced(sorted({*points_of(ours), *points_of(theirs)}))
    return _payload(ours["labels"], points)


def points_of(summary: Mapping[str, Any]) -> list[Point]:
    """The kept samples in time order."""
    return [(start + step * index, value) for start, step, count, value in summary["runs"] for index in range(count)]


def points_inside(
    summary: Mapping[str, Any], low: int | None, high: int | None, *, ends_only: bool = False
) -> list[Point]:
    """The kept samples from ``low`` to ``high`` (None: no bound); ``ends_only`` leaves out the inner ones of runs."""
    points: list[Point] = []
    for start, step, count, value in summary["runs"]:
        # step 0 is a run of one sample, which then is in or out as a whole
        first = 0 if low is None or start >= low else -((start - low) // step) if step else 1
        last = count - 1 if high is None else min(count - 1, (high - start) // (step or 1))
        if first > last:
            continue
        inner = (first, last) if ends_only and last > first else range(first, last + 1)
        points += [(start + step * index, value) for index in inner]
    return points


def _payload(labels: Mapping[str, str], points: Sequence[Point]) -> dict[str, Any]:
    payload: dict[str, Any] = {"labels": labels, "runs": _runs(points)}
    if points:
        payload["min"] = min(points, key=lambda point: (point[1], point[0]))
        payload["max"] = min(points, key=lambda point: (-point[1], point[0]))
        payload["first"], payload["last"] = points[0], points[-1]
    return payload


def _reduced(points: list[Point]) -> list[Point]:
    """At most ``MAX_POINTS`` of the points: the same ones however the set came together."""
    if len(points) <= _MAX_BUCKETS:
        return points
    low, high = 0, 64  # the smallest width 2^n µs with few enough occupied buckets; more points never make it smaller
    while low < high:
        middle = (low + high) // 2
        if len({at >> middle for at, _ in points}) <= _MAX_BUCKETS:
            high = middle
        else:
            low = middle + 1
    buckets: dict[int, list[Point]] = {}
    for point in points:
        buckets.setdefault(point[0] >> low, []).append(point)
    kept: set[Point] = set()
    for bucket in buckets.values():
        least = min(bucket, key=lambda point: (point[1], point[0]))
        greatest = min(bucket, key=lambda point: (-point[1], point[0]))
        kept.update((bucket[0], bucket[-1], least, greatest))
    return sorted(kept)


def _runs(points: Sequence[Point]) -> list[list[float]]:
    """Points as runs of one value at one interval, greedily from the left."""
    runs: list[list[Any]] = []
    for at, value in points:
        if runs:
            start, step, count, held = runs[-1]
            if held == value and (count == 1 or at == start + step * count):
                runs[-1] = [start, at - start if count == 1 else step, count + 1, held]
                continue
        runs.append([at, 0, 1, value])
    return runs
