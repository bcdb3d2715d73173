"""What a reader wants to know beside the verdict: versions, how far training came, who failed first and where."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from common.application import AUTHOR

from attribution_lib.rule_api import EventType, collector_def, event_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import CollectorContext, Event

_LIMIT = 64
"""Rows a list may have; a verdict is read by people."""


@collector_def("versions", AUTHOR)
def versions(context: CollectorContext) -> dict[str, Any]:
    """{component: versions seen}: more than one of a component is worth a look."""
    found: dict[str, set[str]] = {}
    for event in _facts(context, "version", "nccl_package"):
        component, version = str(event.payload.get("component") or ""), str(event.payload.get("version") or "")
        if component and version:
            found.setdefault(component, set()).add(version)
    return {component: sorted(found[component]) for component in sorted(found)}


@collector_def("progress", AUTHOR)
def progress(context: CollectorContext) -> dict[str, Any]:
    """The last progress line of each unit and stream, and whether training ever took a step."""
    last: dict[tuple[str, str], Event] = {}
    for event in _facts(context, "progress"):
        key = (event.stream, str(event.payload.get("unit") or ""))
        if key not in last or event.last.order() > last[key].last.order():
            last[key] = event
    rows = [
        {
            "stream": stream,
            "unit": unit,
            "at": event.payload.get("at"),
            "of": event.payload.get("of") or None,
            "line_num": event.last.line_num,
            "time": _time(event.last.timestamp),
        }
        for (stream, unit), event in sorted(last.items())
    ]
    started = any(_number(row["at"]) >= 1 for row in rows)
    return {"last": rows[:_LIMIT], "reached_step_1": started} if rows else {}


@collector_def("first_errors", AUTHOR)
def first_errors(context: CollectorContext) -> dict[str, Any]:
    """The first error of each rank (of each node or stream where no rank is known), the earliest of all first."""
    first: dict[str, Event] = {}
    for event in chain.from_iterable(context.event_stream.lists(source="applog", active=False)):
        if (event.original_type or event.event_type) != EventType.BAD_NODE:
            continue
        where = f"rank {event.rank}" if event.rank is not None else event.node or event.stream
        if where not in first or _came_first(event, first[where]):
            first[where] = event
    ordered = sorted(first.items(), key=lambda item: (*item[1].first.order(), item[0]))
    return (
        {
            "total": len(ordered),
            "first": [
                {
                    "who": where,
                    "node": event.node,
                    "symptom": event.symptom,
                    "line_num": event.first.line_num,
                    "time": _time(event.first.timestamp),
                }
                for where, event in ordered[:_LIMIT]
            ],
        }
        if ordered
        else {}
    )


def _came_first(event: Event, other: Event) -> bool:
    ours, theirs = event.first.order(), other.first.order()
    return ours < theirs or (ours == theirs and event_order(event) < event_order(other))


@collector_def("tracebacks", AUTHOR)
def tracebacks(context: CollectorContext) -> dict[str, Any]:
    """Distinct tracebacks with the innermost frame of the user's own code, and the ranks that printed them.

    ``chained`` says how an exception follows from the one before it, None for the first of a chain.
    """
    chained = {
        (e.source, e.stream, e.first.line_num): str(e.payload.get("how")) for e in _facts(context, "chained_exception")
    }
    found: dict[tuple[str, str, str], list[Event]] = {}
    for event in _facts(context, "traceback"):
        payload = event.payload
        key = (str(payload.get("exception")), str(payload.get("message"))[:200], str(payload.get("user_frame")))
        found.setdefault(key, []).append(event)
    ordered = sorted(found.items(), key=lambda item: (*item[1][0].first.order(), item[0]))
    return (
        {
            "total": len(ordered),
            "tracebacks": [
                {
                    "exception": exception,
                    "message": message,
                    "user_frame": frame or None,
                    "frame": events[0].payload.get("frame") or None,
                    "chained": chained.get((events[0].source, events[0].stream, events[0].first.line_num)),
                    "ranks": sorted({event.rank for event in events if event.rank is not None})[:_LIMIT],
                    "line_num": events[0].first.line_num,
                }
                for (exception, message, frame), events in ordered[:_LIMIT]
            ],
        }
        if ordered
        else {}
    )


def _facts(context: CollectorContext, *kinds: str) -> Iterable[Event]:
    return (e for e in context.event_stream.events(type=EventType.JOB_INFO) if e.payload.get("kind") in kinds)


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0


def _time(timestamp: int | None) -> str | None:
    if timestamp is None:
        return None
    moment = datetime.fromtimestamp(timestamp / 1_000_000, tz=UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
