"""From lanes, marks and edges to coordinates: where each mark stands, and in which row its label finds room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.picture.axis import make_axis, seconds
from dashboard.picture.model import Drawing, DrawnEdge, DrawnLane, DrawnMark
from dashboard.picture.routing import route

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dashboard.contexts.chain import ChainMark, ChainPicture
    from dashboard.picture.axis import Axis
    from dashboard.picture.routing import Box

__all__ = ["draw"]

_WIDTH, _LEFT = 1160.0, 200.0
_UNTIMED = 310.0
"""Room for what has no time; more where little has one."""
_FEW_TIMES = 4
_ROW, _PAD, _TOP = 24.0, 8.0, 40.0
_MOST_ROWS = 12
"""Rows of one lane; what finds no room below stands in the last one, unlabelled by its neighbours' labels."""
_CHARACTER = 6.9
"""Units that a character of a label takes."""
_LETTERS = 6.0
"""Half the height of a label's letters."""
_ROUTED = 60
"""Arrows up to which each is led around what is written: more cross one another anyway, and a page must not wait."""
_MARK = 6.0
"""Half the width of a mark."""
_LABEL = 40
_GAP = 12.0


@dataclass(slots=True)
class _Rows:
    """Which stretches of each row of one lane are taken."""

    taken: list[list[tuple[float, float]]] = field(default_factory=list)

    def find(self, low: float, high: float) -> int:
        """The first row with room for this stretch."""
        for number, stretches in enumerate(self.taken):
            if all(high <= start or low >= end for start, end in stretches):
                stretches.append((low, high))
                return number
        if len(self.taken) >= _MOST_ROWS:
            return _MOST_ROWS - 1
        self.taken.append([(low, high)])
        return len(self.taken) - 1


def draw(chain: ChainPicture) -> Drawing:
    """The drawing of a chain; its height grows with the labels that would lie on one another."""
    spans = {mark.id: _span(mark, chain) for mark in chain.marks}
    times = [when for span in spans.values() for when in span if when is not None]
    axis = make_axis(times, _LEFT, _WIDTH - _LEFT, _strip(spans.values(), len(set(times))))
    lanes, marks = _placed(chain, spans, axis)
    by_id = {drawn.mark.id: drawn for drawn in marks}
    few = len(chain.edges) <= _ROUTED
    written = [*map(_label_box, marks), *map(_lane_label_box, lanes)] if few else []
    return Drawing(
        width=_WIDTH,
        height=(lanes[-1].y + lanes[-1].height if lanes else _TOP) + 4,
        axis_y=_TOP - 14,
        lanes=tuple(lanes),
        bands=axis.bands,
        ticks=axis.ticks,
        marks=tuple(marks),
        edges=tuple(
            _edge(by_id[edge.source], by_id[edge.target], marks if few else [], written)
            for edge in chain.edges
            if edge.source in by_id and edge.target in by_id
        ),
        compressed=axis.compressed,
        date=chain.start[:10],
    )


def _strip(spans: Iterable[tuple[float | None, float | None]], times: int) -> float:
    """How much of the width goes to marks without a time."""
    untimed = sum(start is None for start, _ in spans)
    if not times or not untimed:
        return _WIDTH - _LEFT if untimed else 0.0
    return (_WIDTH - _LEFT) / 2 if times <= min(_FEW_TIMES, untimed) else _UNTIMED


def _span(mark: ChainMark, chain: ChainPicture) -> tuple[float | None, float | None]:
    """First and last time of a mark, to the second: what lies closer together is drawn as one place."""
    first = seconds(mark.at) if mark.timed else None
    start, end = seconds(chain.start), seconds(chain.end)
    if first is None or start is None or end is None:
        return None, None
    last = first + (mark.x_end - mark.x) * (end - start)
    return float(int(first)), float(int(last))


def _placed(
    chain: ChainPicture, spans: dict[str, tuple[float | None, float | None]], axis: Axis
) -> tuple[list[DrawnLane], list[DrawnMark]]:
    y, lanes, placed = _TOP, [], []
    root = next((mark.lane for mark in chain.marks if mark.state == "root"), -1)
    for lane in sorted(chain.lanes, key=lambda lane: (lane.index != root, lane.index)):
        rows = _Rows()
        placed += [_place(mark, spans[mark.id], rows, axis, y) for mark in chain.marks if mark.lane == lane.index]
        height = max(1, len(rows.taken)) * _ROW + _PAD
        lanes.append(DrawnLane(y, height, lane))
        y += height
    return lanes, [_echoed(drawn, lanes) for drawn in placed]


def _place(mark: ChainMark, span: tuple[float | None, float | None], rows: _Rows, axis: Axis, top: float) -> DrawnMark:
    x, until = axis.at(span[0]), axis.at(span[1])
    label = _label(mark)
    room = len(label) * _CHARACTER + _GAP
    to_the_right = until + room <= _WIDTH
    low, high = (x - _GAP, until + room) if to_the_right else (x - room, until + _GAP)
    y = top + _PAD / 2 + (rows.find(low, high) + 0.5) * _ROW
    return DrawnMark(
        x=x,
        y=y,
        until=until,
        label=label,
        label_x=until + _GAP if to_the_right else x - _GAP,
        anchor="start" if to_the_right else "end",
        echoes=(),
        mark=mark,
    )


def _echoed(drawn: DrawnMark, lanes: Sequence[DrawnLane]) -> DrawnMark:
    """The mark with the heights of the other lanes on which its symptom was seen."""
    others = set(drawn.mark.lanes) - {drawn.mark.lane}
    heights = tuple(lane.y + _PAD / 2 + _ROW / 2 for lane in lanes if lane.lane.index in others)
    return DrawnMark(drawn.x, drawn.y, drawn.until, drawn.label, drawn.label_x, drawn.anchor, heights, drawn.mark)


def _label_box(drawn: DrawnMark) -> Box:
    """Where the letters of a mark's label stand."""
    length = len(drawn.label) * _CHARACTER
    left = drawn.label_x if drawn.anchor == "start" else drawn.label_x - length
    return left, drawn.y - _LETTERS, left + length, drawn.y + _LETTERS


def _lane_label_box(drawn: DrawnLane) -> Box:
    middle = drawn.y + _PAD / 2 + _ROW / 2
    return 0.0, middle - _LETTERS, _PAD + len(drawn.lane.label) * _CHARACTER, middle + _LETTERS


def _edge(cause: DrawnMark, consequence: DrawnMark, marks: Sequence[DrawnMark], written: Sequence[Box]) -> DrawnEdge:
    """An arrow that keeps off other marks too, lest it seem to come from them."""
    others = [
        (one.x - _MARK, one.y - _MARK, one.x + _MARK, one.y + _MARK)
        for one in marks
        if one is not cause and one is not consequence
    ]
    curve = route((cause.x, cause.y), (consequence.x, consequence.y), [*written, *others])
    return DrawnEdge(cause.mark.id, consequence.mark.id, curve, cause.mark.state == "root")


def _label(mark: ChainMark) -> str:
    name = mark.symptom if len(mark.symptom) <= _LABEL else f"{mark.symptom[: _LABEL - 1]}…"
    more = f" and {mark.merged} more" if mark.merged else ""
    times = f" ×{mark.occurrences:,}" if mark.occurrences > 1 else ""
    return f"{name}{more}{times}"
