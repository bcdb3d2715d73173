"""What is drawn: numbers in the drawing's own units (SVG user units), texts as they are, nothing of HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dashboard.contexts.chain import ChainLane, ChainMark

__all__ = ["Curve", "Drawing", "DrawnBand", "DrawnEdge", "DrawnLane", "DrawnMark", "DrawnTick"]


@dataclass(frozen=True, slots=True)
class DrawnTick:
    """One time on the axis, and where the middle of its text stands."""

    x: float
    text_x: float
    text: str


@dataclass(frozen=True, slots=True)
class DrawnBand:
    """A named stretch along the axis: a gap that is drawn short, or the place of marks without a time (``untimed``)."""

    x: float
    width: float
    text: str
    untimed: bool


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """One lane with its height: as many rows as its labels need."""

    y: float
    height: float
    lane: ChainLane


@dataclass(frozen=True, slots=True)
class DrawnMark:
    """One mark and where its label stands."""

    x: float
    y: float
    until: float
    """Where it was last seen; equal to ``x`` for a moment."""
    label: str
    label_x: float
    anchor: str
    """``start`` or ``end``: on which side of the mark the label stands."""
    echoes: tuple[float, ...]
    """Heights of the other lanes on which it was seen."""
    mark: ChainMark


class Curve(NamedTuple):
    """A cubic Bézier curve: where it begins, where it is drawn towards, where it ends."""

    x1: float
    y1: float
    a1: float
    b1: float
    a2: float
    b2: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An arrow from what explains to what is explained."""

    source: str
    """Id of the mark that explains."""
    target: str
    """Id of the mark that is explained."""
    curve: Curve
    from_root: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole drawing."""

    width: float
    height: float
    axis_y: float
    lanes: tuple[DrawnLane, ...]
    bands: tuple[DrawnBand, ...]
    ticks: tuple[DrawnTick, ...]
    marks: tuple[DrawnMark, ...]
    edges: tuple[DrawnEdge, ...]
    compressed: bool
    """Distances along the axis are not in proportion to time."""
    date: str
    """The day of the first time, ``2026-06-01``; empty when no mark has a time."""
