"""A cascade that remembers what it found says what a look at all causes for each event would say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.events.event import Event, EventState, ExplainedBy
from attribution_lib.events.fold import seed
from attribution_lib.events.ordered import by_kind
from attribution_lib.events.stream import EventStream, event_order
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.rules.bad_events import BadEvents, CascadeScope, place_of
from attribution_lib.rules.cascade import Cascade, apply_cascade
from attribution_lib.rules.causes import Causes, Order, TimeRule
from attribution_lib.rules.contexts import RefinerContext
from attribution_lib.rules.model import Location, Scope, SymptomDef
from attribution_lib.rules.registry import GeneratedSymptomRegistry
from attribution_lib.taxonomy import Outcome
from event_kit import copy_of, event

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECOND = 1_000_000
_NAMES = ("Cause", "Both", "Echo")
_REGISTRY = GeneratedSymptomRegistry(
    SymptomDef(name=name, outcome=Outcome.HOST_OS, rank=500, scope=Scope.NODE, location=Location("rules/x.toml", 1))
    for name in _NAMES
)
_CASCADES = st.builds(
    Cascade,
    name=st.just("Cascade"),
    causes=st.just(("Cause", "Both")),
    consequences=st.just(("Both", "Echo")),
    scope=st.sampled_from((CascadeScope.JOB, CascadeScope.NODE)),
    order=st.sampled_from(Order),
    slack=st.one_of(st.none(), st.integers(0, 3)),
    within=st.one_of(st.none(), st.integers(0, 5)),
)


@st.composite
def events(draw: st.DrawFn) -> Event:
    made = event(
        timestamp=draw(st.one_of(st.none(), st.integers(0, 12).map(lambda second: second * _SECOND))),
        source=draw(st.sampled_from(("applog", "syslog"))),
        stream=draw(st.sampled_from("ab")),
        line_num=draw(st.integers(1, 12)),
        node=draw(st.sampled_from((None, "n1", "n2"))),
        symptom=draw(st.sampled_from(_NAMES)),
    )
    seed(made)
    if made.timestamp is not None:  # rows may show their last occurrence
        made.timestamp += draw(st.sampled_from((0, 0, 0, 2))) * _SECOND
    return made


def _plainly(cascade: Cascade, found: Sequence[Event]) -> None:
    rule, place = TimeRule.of(cascade.order, cascade.slack, cascade.within), place_of(cascade.scope)
    for one in sorted(found, key=event_order):
        if one.symptom not in cascade.consequences or place(one) is None:
            continue
        causes = []
        for name in cascade.causes:
            there = [other for other in found if other.symptom == name != one.symptom and place(other) == place(one)]
            causes += [first for first in [Causes(sorted(there, key=event_order)).first_for(one, rule)] if first]
        if causes:
            cause, _ = min(causes, key=lambda first: event_order(first[0]))
            one.state = EventState.DISCARDED
            one.explained_by = ExplainedBy(cause.symptom or "", cause.source, cause.node)


def _fates(found: Sequence[Event]) -> list[Any]:
    return [(one.state, one.explained_by) for one in found]


@given(_CASCADES, st.lists(events(), max_size=30, unique_by=event_order))
def test_a_cascade_explains_what_looking_at_every_cause_explains(cascade: Cascade, found: list[Event]) -> None:
    expected = [copy_of(one) for one in found]
    _plainly(cascade, expected)
    stream = EventStream(by_kind(found))
    job = JobInfoBuilder(job_id="1").build()
    apply_cascade(cascade, RefinerContext(stream, job, _REGISTRY, BadEvents(stream.lists())))
    assert _fates(found) == _fates(expected)
