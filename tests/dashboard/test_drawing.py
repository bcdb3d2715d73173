"""The drawing of a chain: inside its frame, labels apart, gaps short but in order."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence
from dashboard.building.chain import chain_picture
from dashboard.picture.axis import duration, make_axis
from dashboard.picture.layout import _label_box, draw
from dashboard.picture.routing import boxes_crossed, route
from http_kit import ENGINE, ROOT

if TYPE_CHECKING:
    from dashboard.picture.model import Drawing

CASES = sorted(path.name for path in (ROOT / "samples" / "cases").iterdir())[::23]
WITH_ARROWS = [
    "cuda-oom-rank11-zero3-four-nodes",
    "edac-ue-dimm-then-node-freeze",
    "gpu-lost-blocks-every-pod-of-the-node-preferred-allocation",
    "lustre-connection-lost-restored-before-index-error",
    "nvswitch-sxid-then-xid74-and-gsp-timeouts",
    "user-cancel-after-nfs-blip",
]


def _drawing(case: str) -> Drawing:
    verdict = attribute_evidence(read_case_folder(ROOT / "samples" / "cases" / case), ENGINE())
    return draw(chain_picture(verdict))


@pytest.mark.parametrize("case", CASES)
def test_everything_stands_inside_the_frame(case: str) -> None:
    drawing = _drawing(case)
    for mark in drawing.marks:
        assert 0 <= mark.x <= mark.until <= drawing.width
        lane = next(lane for lane in drawing.lanes if lane.lane.index == mark.mark.lane)
        assert lane.y < mark.y < lane.y + lane.height
    assert all(0 <= tick.text_x <= drawing.width for tick in drawing.ticks)
    assert max(lane.y + lane.height for lane in drawing.lanes) <= drawing.height


@pytest.mark.parametrize("case", CASES)
def test_labels_of_one_row_do_not_touch(case: str) -> None:
    rows: dict[float, list[tuple[float, float]]] = {}
    for mark in _drawing(case).marks:
        length = 6.0 * len(mark.label)
        low = mark.label_x if mark.anchor == "start" else mark.label_x - length
        rows.setdefault(mark.y, []).append((low, low + length))
    for stretches in rows.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(stretches)))


def test_the_roots_lane_is_the_first() -> None:
    drawing = _drawing("cuda-oom-rank11-zero3-four-nodes")
    root = next(mark for mark in drawing.marks if mark.mark.state == "root")
    assert drawing.lanes[0].lane.index == root.mark.lane


def test_explanations_lead_from_cause_to_consequence() -> None:
    drawing = _drawing("cuda-oom-rank11-zero3-four-nodes")
    marks = {drawn.mark.id: drawn for drawn in drawing.marks}
    assert drawing.edges
    for edge in drawing.edges:
        assert marks[edge.target].mark.explained_by
        assert edge.from_root == (marks[edge.source].mark.state == "root")
        for x, y, end in ((edge.curve.x1, edge.curve.y1, edge.source), (edge.curve.x2, edge.curve.y2, edge.target)):
            assert max(abs(x - marks[end].x), abs(y - marks[end].y)) <= 9


@pytest.mark.parametrize("case", WITH_ARROWS)
def test_no_arrow_runs_through_a_label_or_a_mark_that_it_is_not_of(case: str) -> None:
    drawing = _drawing(case)
    assert drawing.edges
    labels = [_label_box(drawn) for drawn in drawing.marks]
    for edge in drawing.edges:
        others = [drawn for drawn in drawing.marks if drawn.mark.id not in (edge.source, edge.target)]
        marks = [(drawn.x - 5, drawn.y - 5, drawn.x + 5, drawn.y + 5) for drawn in others]
        assert boxes_crossed(edge.curve, [*labels, *marks]) == 0, edge


_PLACE = st.tuples(st.integers(200, 1_160).map(float), st.integers(0, 12).map(lambda row: 56.0 + 24 * row))


@given(_PLACE, _PLACE, st.lists(st.tuples(_PLACE, st.integers(20, 300)), max_size=12))
def test_where_labels_are_in_every_way_an_arrow_still_comes_from_its_cause_to_its_consequence(
    cause: tuple[float, float], consequence: tuple[float, float], labels: list[tuple[tuple[float, float], int]]
) -> None:
    boxes = [(x, y - 6, x + length, y + 6) for (x, y), length in labels]
    curve = route(cause, consequence, boxes)
    assert max(abs(curve.x1 - cause[0]), abs(curve.y1 - cause[1])) <= 9
    assert max(abs(curve.x2 - consequence[0]), abs(curve.y2 - consequence[1])) <= 9


@given(
    st.lists(st.integers(0, 4_000_000_000).map(float), min_size=1, max_size=80),
    st.floats(300, 2_000),
    st.sampled_from([0.0, 250.0]),
)
def test_times_stand_in_their_order_between_both_ends(times: list[float], width: float, untimed: float) -> None:
    axis = make_axis(times, 100.0, width, untimed)
    places = [axis.at(when) for when in sorted(set(times))]
    assert places == sorted(places)
    assert all(100.0 <= place <= 100.0 + width - untimed for place in places)
    assert axis.at(None) > 100.0 + width - untimed or not untimed
    assert all(later.text_x - earlier.text_x >= 40 for earlier, later in pairwise(axis.ticks))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (63, "1 min 3 s"), (7_980, "2 h 13 min"), (90_000, "1 d 1 h")],
)
def test_durations_are_said_as_people_say_them(seconds: int, text: str) -> None:
    assert duration(seconds) == text
