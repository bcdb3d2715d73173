"""The first failure that explains an event is found for many events as it is for each alone."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution_lib.events.event import Event, EventState
from attribution_lib.events.fold import seed
from attribution_lib.events.stream import event_order
from attribution_lib.rules.folders import bundled_rules
from event_kit import copy_of, event

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECOND = 1_000_000
_REACH = 4


@pytest.fixture(scope="module")
def first_failures() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(bundled_rules()))
        yield importlib.import_module("common.first_failures")


@st.composite
def events(draw: st.DrawFn) -> Event:
    made = event(
        timestamp=draw(st.one_of(st.none(), st.integers(0, 12).map(lambda second: second * _SECOND))),
        stream=draw(st.sampled_from("ab")),
        line_num=draw(st.integers(1, 12)),
        symptom=draw(st.sampled_from("ABC")),
    )
    seed(made)
    return made


def _explains(cause: Event, one: Event) -> bool:
    ours, theirs = cause.first, one.first
    if ours.timestamp is not None and theirs.timestamp is not None and ours.timestamp != theirs.timestamp:
        in_time = 0 < theirs.timestamp - ours.timestamp <= _REACH * _SECOND
    else:
        in_time = ours.stream == theirs.stream and (ours.line_num or 0) < (theirs.line_num or 0)
    return in_time and cause.symptom != one.symptom


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=st.lists(events(), max_size=30, unique_by=event_order))
def test_a_failure_explains_many_events_as_it_explains_each(first_failures: Any, found: list[Event]) -> None:
    alone = sorted(map(copy_of, found), key=event_order)
    asked = first_failures.FirstFailures(sorted(alone, key=lambda one: one.symptom or ""), within=_REACH)
    for one in alone:
        if asked.first(one, _explains) is not None:
            one.state = EventState.DISCARDED
    together = sorted(map(copy_of, found), key=event_order)
    failures = first_failures.FirstFailures(sorted(together, key=lambda one: one.symptom or ""), within=_REACH)
    for one, _ in failures.explained(together, _explains):
        one.state = EventState.DISCARDED
    assert [one.state for one in together] == [one.state for one in alone]
