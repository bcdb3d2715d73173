"""The way of an arrow: of several curves the one that runs through the fewest labels and other marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.picture.model import Curve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Box", "boxes_crossed", "route"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""(left, top, right, bottom) of a label, or of a mark that the arrow is not of."""
_REACH = 9.0
"""From the middle of a mark to where its arrows begin and end."""
_BESIDE = 24.0
"""Marks nearer than this stand above one another."""
_ARC = 16.0
"""How far an arc between marks of one row is drawn off it: between its labels and those of the next row."""
_BOWS = (30.0, 14.0, 60.0, 90.0, 130.0)
_SAMPLES = 20


def route(cause: Point, consequence: Point, boxes: Sequence[Box]) -> Curve:
    """The curve from one mark to another; of equally good ones the first, which is the calmest to look at."""
    top, bottom = sorted((cause[1], consequence[1]))
    boxes = [box for box in boxes if box[1] < bottom + _ARC and top - _ARC < box[3]]  # no way leads further up or down
    least: tuple[int, Curve] | None = None
    for curve in _ways(cause, consequence):
        crossed = boxes_crossed(curve, boxes)
        if crossed == 0:
            return curve
        if least is None or crossed < least[0]:
            least = crossed, curve
    assert least is not None  # noqa: S101 -- there are always ways
    return least[1]


def boxes_crossed(curve: Curve, boxes: Sequence[Box]) -> int:
    """How many of them a curve runs through."""
    points = [_at(curve, step / _SAMPLES) for step in range(_SAMPLES + 1)]
    crossed = 0
    for left, above, right, below in boxes:
        for x, y in points:
            if above < y < below and left < x < right:
                crossed += 1
                break
    return crossed


def _at(curve: Curve, t: float) -> Point:
    """A point of a cubic Bézier curve."""
    u = 1 - t
    of = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
    return (
        of[0] * curve.x1 + of[1] * curve.a1 + of[2] * curve.a2 + of[3] * curve.x2,
        of[0] * curve.y1 + of[1] * curve.b1 + of[2] * curve.b2 + of[3] * curve.y2,
    )


def _ways(cause: Point, consequence: Point) -> Iterator[Curve]:
    """An S from side to side; out or in from above or below; an arc along the row; bows to the left of both."""
    (x1, y1), (x2, y2) = cause, consequence
    if abs(x2 - x1) >= _BESIDE:
        side = _REACH if x2 > x1 else -_REACH
        down = _REACH if y2 > y1 else -_REACH
        middle = (x1 + x2) / 2
        yield Curve(x1 + side, y1, middle, y1, middle, y2, x2 - side, y2)
        if y1 != y2:
            yield Curve(x1, y1 + down, x1, y2, x1, y2, x2 - side, y2)
            yield Curve(x1 + side, y1, x2, y1, x2, y1, x2, y2 - down)
            yield Curve(x1, y1 + down, x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2 - down)
        else:
            for off in (-_ARC, _ARC):
                yield Curve(x1, y1 + off / 2, x1, y1 + off, x2, y2 + off, x2, y2 + off / 2)
    for bow in _BOWS:
        left = min(x1, x2) - bow
        yield Curve(x1 - _REACH, y1, left, y1, left, y2, x2 - _REACH, y2)
