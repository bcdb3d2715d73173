"""When a metric rule holds: the first sample of a (node, device) that fulfils its predicate, worked out on summaries.

Levels (``last``, ``max``, ``min``) look at all samples of the place together. The others look at what happens between
two samples of one series, inside the job's window: a value that stands when the window opens is nobody's doing here.
``turns`` finds where a series begins to fulfil the predicate; ``increase`` and ``changes`` add up over the
series of the place. A falling counter was reset and counts from zero.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from attribution_lib.events.series import Point, points_inside
from attribution_lib.rules.model import Reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from attribution_lib.rules.model import MetricRule

__all__ = ["Finding", "Window", "find", "number_text"]

Window = tuple[int | None, int | None]
"""µs UTC; None leaves a side open."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_ONE_SAMPLE_DECIDES = frozenset({(Reduce.MAX, ">"), (Reduce.MAX, ">="), (Reduce.MIN, "<"), (Reduce.MIN, "<=")})
"""Where the extreme fulfils the predicate as soon as any one sample does; a window then changes nothing."""
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule holds: the sample that says so first, what stood before it, and its series."""

    at: int
    value: float
    before: float | None
    series: int
    last_at: int
    count: int = 1
    code: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """What one sample of a series says against the one before it."""

    start: int
    at: int
    before: float
    value: float
    series: int


def find(rule: MetricRule, summaries: Sequence[Mapping[str, Any]], window: Window) -> list[Finding]:
    """What a rule finds in the series of one place (and of one code, where the rule reads codes from a label)."""
    if rule.catalog is not None and not rule.code_label:
        return _codes(rule, summaries, window)
    if rule.reduce is Reduce.TURNS:
        return _turn(rule, summaries, window)
    if rule.reduce in (Reduce.INCREASE, Reduce.CHANGES):
        return _growth(rule, summaries, window)
    return _level(rule, summaries, window)


def _inside(summary: Mapping[str, Any], window: Window, *, ends_only: bool = True) -> list[Point]:
    """Samples in the job's window; the inner ones of a constant stretch matter only to what counts time."""
    return points_inside(summary, *window, ends_only=ends_only)


def _constant(summaries: Sequence[Mapping[str, Any]]) -> bool:
    return len({summary[side][1] for summary in summaries for side in ("min", "max")}) == 1


def _codes(rule: MetricRule, summaries: Sequence[Mapping[str, Any]], window: Window) -> list[Finding]:
    """Gauges that hold the last code seen (``DCGM_FI_DEV_XID_ERRORS``): each change to a code, once a code."""
    if _constant(summaries):
        return []
    holds = _OPERATORS[rule.op]
    samples = sorted(
        (at, value, index) for index, summary in enumerate(summaries) for at, value in _inside(summary, window)
    )
    found: dict[float, Finding] = {}
    before: float | None = None
    for at, value, index in samples:
        if before is not None and value != before and holds(value, rule.value):
            first = found.get(value)
            if first is None:
                found[value] = Finding(at, value, before, index, at, code=number_text(value))
            else:
                found[value] = Finding(first.at, value, first.before, first.series, at, first.count + 1, first.code)
        before = value
    if rule.reduce is Reduce.LAST:
        return [finding for value, finding in found.items() if value == before]
    return sorted(found.values(), key=lambda finding: (finding.at, finding.value))


def _growth(rule: MetricRule, summaries: Sequence[Mapping[str, Any]], window: Window) -> list[Finding]:
    """The first moment at which the sum of steps (or their number) fulfils the predicate."""
    holds = _OPERATORS[rule.op]
    inside = [_inside(summary, window) for summary in summaries]
    steps = sorted(
        (
            _Step(start, at, before, value, index)
            for index, points in enumerate(inside)
            for (start, before), (at, value) in pairwise(points)
            if value != before
        ),
        key=lambda step: (step.at, step.series, step.start),
    )
    weigh = _increase_of if rule.reduce is Reduce.INCREASE else _one
    span = None if rule.window_seconds is None else rule.window_seconds * _SECOND
    if rule.op in (">", ">=", "!="):
        return _first_sum(steps, weigh, span, lambda total: holds(total, rule.value))
    samples = [(*point, index) for index, points in enumerate(inside) if len(points) > 1 for point in points]
    if samples and holds(sum(weigh(step) for step in steps), rule.value):
        at, value, index = max(samples)
        return [Finding(at, value, inside[index][0][1], index, at)]
    return []


def _first_sum(
    steps: Sequence[_Step], weigh: Callable[[_Step], float], span: int | None, holds: Callable[[float], bool]
) -> list[Finding]:
    """The first step at which the sum over the last ``span`` µs holds.

    Of a step between samples further apart than that, its average share counts: so much fell into some such window.
    """
    if not steps:
        return []
    wide = [step for step in steps if span is not None and step.at - step.start > span]
    found = [
        Finding(step.at, step.value, step.before, step.series, steps[-1].at)
        for step in wide
        if span is not None and holds(weigh(step) * span / (step.at - step.start))
    ][:1]
    narrow = [step for step in steps if span is None or step.at - step.start <= span]
    total, oldest = 0.0, 0
    for index, step in enumerate(narrow):
        total += weigh(step)
        while span is not None and narrow[oldest].start < step.at - span:
            total -= weigh(narrow[oldest])
            oldest += 1
        if holds(total):
            base = next(earlier for earlier in narrow[oldest : index + 1] if earlier.series == step.series)
            found.append(Finding(step.at, step.value, base.before, step.series, steps[-1].at))
            break
    return sorted(found, key=lambda finding: finding.at)[:1]


def _turn(rule: MetricRule, summaries: Sequence[Mapping[str, Any]], window: Window) -> list[Finding]:
    """The first sample that fulfils the predicate right after one of its own series that did not."""
    holds = _OPERATORS[rule.op]
    turns = sorted(
        (at, index, before, value)
        for index, summary in enumerate(summaries)
        for (_, before), (at, value) in pairwise(_inside(summary, window))
        if holds(value, rule.value) and not holds(before, rule.value)
    )
    return [Finding(at, value, before, index, turns[-1][0]) for at, index, before, value in turns[:1]]


def _increase_of(step: _Step) -> float:
    return step.value - step.before if step.value > step.before else step.value


def _one(_step: _Step) -> float:
    return 1.0


def _level(rule: MetricRule, summaries: Sequence[Mapping[str, Any]], window: Window) -> list[Finding]:
    """The first sample of the stretch that fulfils the predicate."""
    holds = _OPERATORS[rule.op]
    decides_alone = (rule.reduce, rule.op) in _ONE_SAMPLE_DECIDES
    if decides_alone and not any(holds(summary[rule.reduce.value][1], rule.value) for summary in summaries):
        return []
    span = None if rule.window_seconds is None or rule.reduce is Reduce.LAST else rule.window_seconds * _SECOND
    ends_only = span is None or decides_alone
    samples = sorted(
        (at, value, index)
        for index, summary in enumerate(summaries)
        for at, value in _inside(summary, window, ends_only=ends_only)
    )
    if not samples:
        return []
    fulfils = [holds(value, rule.value) for _, value, _ in samples]
    if rule.reduce is Reduce.LAST:
        start = _trailing(fulfils)
    elif decides_alone:
        start = fulfils.index(True) if any(fulfils) else None
    else:
        start = _sustained(samples, fulfils, span)
    if start is None:
        return []
    at, value, index = samples[start]
    earlier = [before for _, before, other in samples[:start] if other == index]
    last_at = max(sample[0] for sample, held in zip(samples, fulfils, strict=True) if held)
    return [Finding(at, value, earlier[-1] if earlier else None, index, last_at)]


def _trailing(fulfils: Sequence[bool]) -> int | None:
    """Where the stretch begins that fulfils the predicate up to the last sample."""
    if not fulfils[-1]:
        return None
    return max((index + 1 for index, held in enumerate(fulfils) if not held), default=0)


def _sustained(samples: Sequence[tuple[int, float, int]], fulfils: Sequence[bool], span: int | None) -> int | None:
    """The first sample at whose time every sample of the last ``span`` µs has fulfilled it; without span, all must."""
    if span is None:
        return 0 if all(fulfils) else None
    since: int | None = None
    for index, (at, _, _) in enumerate(samples):
        if not fulfils[index]:
            since = None
        elif since is None:
            since = at
        if since is not None and at - since >= span:
            return index
    return None


def number_text(value: float) -> str:
    """A sample's value as people write it: ``79``, ``0.25``."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 -- exact in a double
