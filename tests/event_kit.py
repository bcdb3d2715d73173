"""Events for tests: the smallest ones that mean something, and a way to compare what stores hold."""

from __future__ import annotations

import dataclasses
from typing import Any

from attribution_lib.events.event import Clock, Event, EventType

MINUTE = 60_000_000


def event(**fields: Any) -> Event:
    """A fresh event; UTC when it has a timestamp, else without a clock."""
    timestamp = fields.get("timestamp")
    given: dict[str, Any] = {
        "event_type": EventType.BAD_NODE,
        "rule": "Rule",
        "source": "applog",
        "stream": "app.log",
        "line_num": 1,
        "timestamp": None,
        "clock": Clock.NONE if timestamp is None else Clock.UTC,
        "node": "node-0001",
        "rank": None,
        "device": None,
        "symptom": "Symptom",
        "payload": {},
        "datum": "a line",
        "observation_id": "batch-1",
    }
    return Event(**(given | fields))


def copy_of(one: Event) -> Event:
    return dataclasses.replace(one)


def content(events: list[Event]) -> list[str]:
    """What events hold, in an order of their own, whatever order they and their minutes came in."""
    texts = []
    for one in events:
        fields = dataclasses.asdict(one)
        fields["times"] = sorted(fields["times"].items())
        texts.append(repr(sorted(fields.items())))
    return sorted(texts)
