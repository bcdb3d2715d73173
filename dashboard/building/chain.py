"""The chain of a verdict laid out as a picture, bounded whatever the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from attribution_lib.rfc3339 import format_instant, parse_instant
from dashboard.building.chain_lanes import Lanes, choose_lanes
from dashboard.building.chain_story import mark_label, story
from dashboard.building.words import counted, symptom_words
from dashboard.contexts.chain import MAX_EDGES, MAX_MARKS, ChainEdge, ChainMark, ChainPicture, ChainTick

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attribution_lib.verdict import ChainRow, SymptomRow
    from attribution_service.result import EnrichedVerdict

__all__ = ["Step", "chain_picture", "steps_of"]

_SECOND = 1_000_000
_NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
"""Seconds between ticks; beyond, whole days."""
_TICKS = 7
_DAY = 86_400
_PLACES = 120
"""Marks nearer than one of so many parts of the width would lie on one another."""
_SHORT = 40
"""Steps up to which each has a mark of its own."""
_EVIDENCE = 200
_STATES = ("root", "remaining", "demoted", "discarded")
"""What is drawn first when not everything can be."""


@dataclass(frozen=True, slots=True)
class Step:
    """One row of the chain with what its symptom's row knows beside: which nodes, when last, changed by whom."""

    row: ChainRow
    nodes: tuple[str, ...]
    """The first 32."""
    first: int | None
    """µs since the epoch."""
    last: int | None
    changed_by: str


@dataclass(slots=True)
class _Drawn:
    """A mark and the steps that it stands for."""

    step: Step
    lane: int
    lanes: tuple[int, ...]
    others: list[Step] = field(default_factory=list)


def steps_of(verdict: EnrichedVerdict) -> list[Step]:
    """The chain in its order. Rows of symptoms and of the chain are made from the same groups."""
    found: dict[tuple[str, str, str, str | None], list[SymptomRow]] = {}
    for symptom in verdict.symptoms:
        found.setdefault(_group(symptom), []).append(symptom)
    return [_step(row, found.get(_group(row), [])) for row in verdict.chain]


def chain_picture(verdict: EnrichedVerdict) -> ChainPicture:
    """At most so many lanes, marks, edges and ticks as the context promises."""
    steps = steps_of(verdict)
    times = [time for step in steps for time in (step.first, step.last) if time is not None]
    if not times:  # in the order of the log, a step as far apart as the next
        steps = [replace(step, first=place, last=place) for place, step in enumerate(steps)]
    start, end = (min(times), max(times)) if times else (0, max(1, len(steps) - 1))
    lanes = choose_lanes(verdict, steps)
    drawn = _merged(steps, lanes, start, end)
    shown = sorted(drawn, key=lambda mark: _STATES.index(mark.step.row.state))[:MAX_MARKS]
    shown = [mark for mark in drawn if any(mark is kept for kept in shown)] if len(shown) < len(drawn) else drawn
    marks = [_mark(f"m{number}", mark, start, end, timed=bool(times)) for number, mark in enumerate(shown)]
    edges, cut = _edges(shown, marks)
    return ChainPicture(
        start=format_instant(start) if times else "",
        end=format_instant(end) if times else "",
        ticks=tuple(_ticks(start, end)) if times else (),
        lanes=lanes.shown,
        marks=tuple(marks),
        edges=tuple(edges),
        omitted=_omitted(len(drawn) - len(shown), cut),
        summary=story(verdict, steps),
    )


def _group(row: ChainRow | SymptomRow) -> tuple[str, str, str, str | None]:
    return row.symptom, row.source, row.state, row.explained_by


def _step(row: ChainRow, symptoms: list[SymptomRow]) -> Step:
    same = [symptom for symptom in symptoms if symptom.rule == row.rule and symptom.occurrences == row.occurrences]
    symptom = next(iter(same or symptoms), None)
    first = parse_instant(row.at) if row.at else None
    last = parse_instant(symptom.last_seen) if symptom is not None and symptom.last_seen else first
    nodes = tuple(symptom.node_list) if symptom is not None and row.nodes > 1 else tuple(filter(None, [row.node]))
    changed_by = symptom.changed_by if symptom is not None else None
    return Step(row, nodes, first, last if first is not None else None, changed_by or "")


def _merged(steps: Sequence[Step], lanes: Lanes, start: int, end: int) -> list[_Drawn]:
    """One mark for steps of the same lane and fate that would lie on one another; the root is never merged.

    A short story keeps a mark for each step: the drawing finds room for so many labels.
    """
    drawn: dict[tuple[object, ...], _Drawn] = {}
    short = len(steps) <= _SHORT
    for number, step in enumerate(steps):
        lane, several = lanes.of(step)
        place = int(_x(step.first, start, end) * _PLACES)
        key = (lane, place, step.row.state, step.first is None, number if short or step.row.state == "root" else None)
        if key in drawn:
            drawn[key].others.append(step)
        else:
            drawn[key] = _Drawn(step, lane, several)
    return list(drawn.values())


def _x(time: int | None, start: int, end: int) -> float:
    if time is None or end == start:
        return 0.0 if time is None else 0.5
    return round((time - start) / (end - start), 4)


def _mark(name: str, mark: _Drawn, start: int, end: int, *, timed: bool) -> ChainMark:
    row, steps = mark.step.row, [mark.step, *mark.others]
    last = max((step.last for step in steps if step.last is not None), default=None)
    return ChainMark(
        id=name,
        lane=mark.lane,
        lanes=mark.lanes,
        x=_x(mark.step.first, start, end),
        x_end=max(_x(mark.step.first, start, end), _x(last, start, end)),
        timed=timed and mark.step.first is not None,
        symptom=row.symptom,
        merged=len(mark.others),
        state=row.state,
        nodes=max(step.row.nodes for step in steps),
        occurrences=sum(step.row.occurrences for step in steps),
        at=row.at or "",
        source=row.source,
        rule=row.rule,
        explained_by=row.explained_by or "",
        evidence=row.evidence[:_EVIDENCE],
        label=mark_label(mark.step, mark.others),
    )


def _edges(drawn: Sequence[_Drawn], marks: Sequence[ChainMark]) -> tuple[list[ChainEdge], int]:
    """From causes to what they explain, those of the root first; and how many were cut."""
    causes: dict[str, list[ChainMark]] = {}
    for mark, of in zip(marks, drawn, strict=True):
        for step in (of.step, *of.others):
            causes.setdefault(step.row.symptom, []).append(mark)
    found: dict[tuple[str, str], tuple[bool, ChainEdge]] = {}
    for mark, of in zip(marks, drawn, strict=True):
        for step in (of.step, *of.others):
            named = causes.get(step.row.explained_by or "", [])
            cause = min(named, key=lambda known: (_STATES.index(known.state), known.lane != mark.lane), default=None)
            if cause is None or cause is mark or (cause.id, mark.id) in found:
                continue
            label = f"{symptom_words(cause.symptom)} explains {symptom_words(step.row.symptom)}"
            edge = ChainEdge(source=cause.id, target=mark.id, rule=step.changed_by, label=label)
            found[cause.id, mark.id] = (cause.state != "root", edge)
    edges = [edge for _, edge in sorted(found.values(), key=lambda known: known[0])]
    return edges[:MAX_EDGES], max(0, len(edges) - MAX_EDGES)


def _ticks(start: int, end: int) -> Iterable[ChainTick]:
    seconds = (end - start) / _SECOND
    step = next((nice for nice in _NICE if seconds / nice <= _TICKS), (int(seconds / _TICKS / _DAY) + 1) * _DAY)
    several_days = format_instant(start)[:10] != format_instant(end)[:10]
    letters = slice(5, 16) if several_days else slice(11, 19)
    first = -(-start // (step * _SECOND)) * step * _SECOND
    for time in range(first, end + 1, step * _SECOND):
        yield ChainTick(x=_x(time, start, end), label=format_instant(time)[letters].replace("T", " "))
    if start == end:
        yield ChainTick(x=0.5, label=format_instant(start)[11:19])


def _omitted(marks: int, edges: int) -> str:
    parts = [counted(marks, "mark")] if marks else []
    parts += [counted(edges, "edge")] if edges else []
    return f"Not drawn: {' and '.join(parts)}; the table has all symptoms." if parts else ""
