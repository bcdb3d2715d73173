"""The index that cascades look causes up in says what a look at every single cause would say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.events.event import Event, EventState
from attribution_lib.events.fold import seed
from attribution_lib.events.stream import event_order
from attribution_lib.rules.causes import Causes, Order, TimeRule
from event_kit import event

_SECOND = 1_000_000
_RULES = st.builds(
    TimeRule.of,
    order=st.sampled_from(Order),
    slack=st.one_of(st.none(), st.integers(0, 3)),
    within=st.one_of(st.none(), st.integers(0, 5)),
)


@st.composite
def events(draw: st.DrawFn, *, timed: bool | None = None) -> Event:
    times = st.integers(0, 12).map(lambda second: second * _SECOND)
    made = event(
        timestamp=draw({None: st.one_of(st.none(), times), True: times, False: st.none()}[timed]),
        stream=draw(st.sampled_from("ab")),
        line_num=draw(st.integers(1, 12)),
    )
    seed(made)
    return made


def _plainly(causes: list[Event], asked: Event, rule: TimeRule) -> tuple[Event, bool] | None:
    for cause in causes:
        certain = rule.explains(cause, asked)
        if cause.state is EventState.ACTIVE and certain is not None:
            return cause, certain
    return None


@given(st.lists(events(timed=True), min_size=1, max_size=30), st.lists(events(), max_size=30), _RULES, st.data())
def test_timed_causes_are_found_as_by_looking_at_each(
    causes: list[Event], asked: list[Event], rule: TimeRule, data: st.DataObject
) -> None:
    causes.sort(key=event_order)
    index = Causes(causes)
    for one in asked:
        if one.first.timestamp is not None:
            assert index.first_for(one, rule) == _plainly(causes, one, rule)
        if data.draw(st.booleans()):
            data.draw(st.sampled_from(causes)).state = EventState.DISCARDED


@given(st.lists(events(), min_size=1, max_size=30), st.lists(events(), max_size=30), _RULES, st.data())
def test_an_event_is_explained_when_some_cause_explains_it(
    causes: list[Event], asked: list[Event], rule: TimeRule, data: st.DataObject
) -> None:
    causes.sort(key=event_order)
    index = Causes(causes)
    for one in asked:
        found = index.first_for(one, rule)
        assert (found is None) == (_plainly(causes, one, rule) is None)
        if found is not None:
            assert found[0].state is EventState.ACTIVE
            assert rule.explains(found[0], one) is found[1]
        if data.draw(st.booleans()):
            data.draw(st.sampled_from(causes)).state = EventState.DISCARDED


@given(st.lists(events(timed=True), min_size=2, max_size=30), events(timed=True), st.integers(0, 5))
def test_causes_that_show_their_last_occurrence_are_found_by_their_first(
    causes: list[Event], asked: Event, within: int
) -> None:
    for number, cause in enumerate(causes):
        cause.timestamp = (len(causes) - number) * _SECOND
    causes.sort(key=event_order)
    rule = TimeRule.of(Order.ANY, 0, within)
    assert Causes(causes).first_for(asked, rule) == _plainly(causes, asked, rule)
