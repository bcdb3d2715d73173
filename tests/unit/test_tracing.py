"""The trace of one attribution: what each phase left, and the same verdict as without looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.phases.stages import Stage
from attribution_lib.tracing import trace
from engine_kit import applog, engine_of, job, syslog

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.tracing import Trace

CASCADE = """
from attribution_lib.rule_api import RefinerPriority, filter_def, refiner_def
@filter_def("SetAside", author="tests")
def set_aside(context):
    for event in context.event_stream.events(symptom="Task exited"):
        context.event_stream.demote(event, by="SetAside")
@refiner_def("PartExplainsPeer", author="tests", priority=RefinerPriority.FINAL, symptoms=["Peer gone"])
def part_explains_peer(context):
    part = context.event_stream.events(symptom="Part broke")[0]
    for event in context.event_stream.events(symptom="Peer gone"):
        context.event_stream.discard(event, by="PartExplainsPeer", explained_by=part)
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"), python=CASCADE)


def _trace(engine: RuleEngine) -> Trace:
    with Attributor(job(), engine) as attributor:
        attributor.ingest_batch([syslog("PART BROKE", node="n1"), applog("PEER GONE", "TASK EXITED")])
        found = trace(attributor)
        assert found.verdict == attributor.attribute()
    return found


def test_a_trace_has_a_snapshot_after_every_phase(engine: RuleEngine) -> None:
    assert [snapshot.stage for snapshot in _trace(engine).snapshots] == list(Stage)


def test_each_snapshot_shows_the_events_as_that_phase_left_them(engine: RuleEngine) -> None:
    states = {
        snapshot.stage: {each.event.symptom: each.event.state.value for each in snapshot.events if each.event.symptom}
        for snapshot in _trace(engine).snapshots
    }
    assert [states[stage]["Task exited"] for stage in Stage] == ["active", *["demoted"] * 4]
    assert [states[stage]["Peer gone"] for stage in Stage] == ["active"] * 3 + ["discarded"] * 2


def test_an_event_keeps_its_number_through_all_phases(engine: RuleEngine) -> None:
    numbers = [{each.number: each.event.symptom for each in snapshot.events} for snapshot in _trace(engine).snapshots]
    assert all(found == numbers[0] for found in numbers)


def test_a_snapshot_does_not_change_with_the_phases_after_it(engine: RuleEngine) -> None:
    found = _trace(engine)
    first = {each.number: each.event for each in found.snapshots[0].events}
    last = {each.number: each.event for each in found.snapshots[-1].events}
    assert first[0] is not last[0]
    assert all(event.changed_by is None for event in first.values())
