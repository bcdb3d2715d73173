"""How a collector cuts its windows must not matter: summaries of parts merge into the summary of the whole."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.events import series
from attribution_lib.events.series import MAX_POINTS, Point, merge_summaries, points_inside, points_of, summary_of

_LABELS = {"__name__": "m"}
_POINTS = st.lists(
    st.tuples(st.integers(0, 10_000).map(lambda second: second * 1_000_000), st.sampled_from([0.0, 1.0, 79.0])),
    max_size=60,
)


def _merged(parts: list[list[Point]]) -> dict[str, object]:
    whole = summary_of(_LABELS, [])
    for part in parts:
        whole = merge_summaries(whole, summary_of(_LABELS, part))
    return whole


@given(st.lists(_POINTS, max_size=4), st.randoms(use_true_random=False))
def test_parts_in_any_order_merge_into_the_whole(parts: list[list[Point]], random: object) -> None:
    whole = summary_of(_LABELS, [point for part in parts for point in part])
    random.shuffle(parts)  # type: ignore[attr-defined]  # hypothesis' own Random
    assert _merged(parts) == whole


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1_100, 3_000), st.integers(1, 10_000_000))
def test_so_do_parts_of_more_samples_than_are_kept(seed: int, cuts: int, count: int, step: int) -> None:
    random = Random(seed)  # noqa: S311 -- any samples will do
    points = [(index * step + random.randrange(step), float(random.randrange(5))) for index in range(count)]
    whole = summary_of(_LABELS, points)
    assert len(points_of(whole)) <= MAX_POINTS
    random.shuffle(points)
    size = count // cuts + 1
    assert _merged([points[at : at + size] for at in range(0, count, size)]) == whole


@given(_POINTS)
def test_up_to_a_thousand_samples_nothing_is_lost(points: list[Point]) -> None:
    assert points_of(summary_of(_LABELS, points)) == sorted(set(points))


@given(_POINTS, st.integers(0, 10_000_000_000), st.integers(0, 10_000_000_000))
def test_a_window_cuts_runs_where_it_cuts_samples(points: list[Point], low: int, high: int) -> None:
    summary = summary_of(_LABELS, points)
    inside = [point for point in sorted(set(points)) if low <= point[0] <= high]
    assert points_inside(summary, low, high) == inside
    ends = points_inside(summary, low, high, ends_only=True)
    assert set(ends) <= set(inside)
    assert [value for value, before in _steps(ends)] == [value for value, before in _steps(inside)]


def _steps(points: list[Point]) -> list[tuple[float, float]]:
    values = [value for _, value in points]
    return [(value, before) for before, value in pairwise(values) if value != before]


def test_a_healthy_gauge_is_one_run_however_long() -> None:
    summary = summary_of(_LABELS, [(second * 15_000_000, 40.0) for second in range(1_000)])
    assert len(summary["runs"]) == 1
    assert (summary["first"], summary["last"]) == ((0, 40.0), (999 * 15_000_000, 40.0))


def test_zero_and_minus_zero_are_one_value() -> None:
    assert summary_of(_LABELS, [(1, -0.0)]) == merge_summaries(summary_of(_LABELS, [(1, 0.0)]), summary_of(_LABELS, []))
    assert series.summary_of(_LABELS, [(1, float("nan"))])["runs"] == []
