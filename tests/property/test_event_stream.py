"""Whatever was added, demoted or discarded, a stream gives what a look at all its events in order would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.events.event import Event, EventState, EventType
from attribution_lib.events.ordered import by_kind
from attribution_lib.events.stream import EventStream, event_order
from event_kit import event

_TYPES = (EventType.BAD_NODE, EventType.INTERESTING_NODE, EventType.JOB_STOP)
_SYMPTOMS = ("A", "B", None)
_QUERIES = st.fixed_dictionaries(
    {"active": st.booleans()},
    optional={
        "type": st.sampled_from(_TYPES),
        "symptom": st.one_of(st.just("A"), st.just(["A", "B"]), st.just([])),
        "rule": st.sampled_from(("R", "S")),
        "source": st.sampled_from(("applog", "syslog")),
    },
)


@st.composite
def events(draw: st.DrawFn) -> Event:
    return event(
        event_type=draw(st.sampled_from(_TYPES)),
        timestamp=draw(st.one_of(st.none(), st.integers(0, 5))),
        source=draw(st.sampled_from(("applog", "syslog"))),
        line_num=draw(st.one_of(st.none(), st.integers(1, 9))),
        node=draw(st.sampled_from((None, "n1", "n2"))),
        symptom=draw(st.sampled_from(_SYMPTOMS)),
        rule=draw(st.sampled_from(("R", "S"))),
    )


def _fits(one: Event, query: dict[str, object]) -> bool:
    if query["active"] and one.state is EventState.DISCARDED:
        return False
    asked = {"type": one.event_type, "symptom": one.symptom, "rule": one.rule, "source": one.source}
    for name, value in asked.items():
        wanted = query.get(name, value)
        if value != wanted and not (isinstance(wanted, list) and value in wanted):
            return False
    return True


def _change(stream: EventStream, held: list[Event], data: st.DataObject) -> None:
    match data.draw(st.sampled_from(("add", "demote", "discard"))):
        case "add":
            held.append(stream.add(data.draw(events())))
        case "demote" if held:
            stream.demote(data.draw(st.sampled_from(held)), by="test")
        case "discard" if held:
            stream.discard(data.draw(st.sampled_from(held)), by="test")


@given(st.lists(events(), max_size=12), st.data())
def test_a_stream_gives_what_a_look_at_all_events_gives(given_events: list[Event], data: st.DataObject) -> None:
    held = list(given_events)
    stream = EventStream(by_kind(given_events))
    for query in data.draw(st.lists(_QUERIES, max_size=6)):
        _change(stream, held, data)
        expected = sorted((one for one in held if _fits(one, query)), key=event_order)
        assert list(map(event_order, stream.events(**query))) == list(map(event_order, expected))
        in_lists = [one for found in stream.lists(**query) for one in found]
        assert {id(one) for one in in_lists} == {id(one) for one in expected}
        assert len(in_lists) == len(expected)
    assert len(stream) == len(held)
    assert list(map(event_order, stream)) == sorted(map(event_order, held))
