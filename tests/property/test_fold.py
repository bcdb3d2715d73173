"""Folding must not care about order, grouping or cutting: that is what makes a verdict reproducible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.events.compaction import Limits
from attribution_lib.events.event import Clock
from attribution_lib.events.fold import fold_key
from attribution_lib.events.folder import Folder
from attribution_lib.events.spilling import SpillBuilder
from attribution_lib.events.table import EventManager
from attribution_lib.observation import Observation, Source
from event_kit import MINUTE, content, copy_of, event

if TYPE_CHECKING:
    from attribution_lib.events.event import Event

_STAMPS = st.one_of(st.none(), st.integers(0, 200 * MINUTE), st.integers(0, 2**50))


@st.composite
def events(draw: st.DrawFn) -> Event:
    timestamp = draw(_STAMPS)
    clock = Clock.NONE if timestamp is None else draw(st.sampled_from([Clock.UTC, Clock.LOCAL, Clock.YEARLESS]))
    rule = draw(st.sampled_from(["Plain", "last", "max"]))
    return event(
        timestamp=timestamp,
        clock=clock,
        rule=rule,
        fold="" if rule == "Plain" else rule,
        stream=draw(st.sampled_from("ab")),
        line_num=draw(st.integers(1, 5)),
        node=draw(st.sampled_from([None, "n1", "n2"])),
        rank=draw(st.sampled_from([None, 0])),
        payload={"version": draw(st.sampled_from(["2.9", "2.21", "x"]))},
        datum=draw(st.sampled_from(["one", "two"])),
        observation_id=draw(st.sampled_from(["o1", "o2"])),
        key_fields=draw(st.sampled_from([(), ("k",)])),
        occurrences=draw(st.integers(1, 3)),
        context_before=draw(st.sampled_from([(), ("before",)])),
        node_declared=draw(st.booleans()),
    )


def _folded(given_events: list[Event], folder: Folder | None = None) -> list[str]:
    folder = Folder() if folder is None else folder
    folder.add_all(copy_of(one) for one in given_events)
    return content(folder.events())


@given(st.lists(events(), max_size=40), st.randoms(use_true_random=False))
def test_any_order_gives_the_same_rows(given_events: list[Event], random: object) -> None:
    shuffled = list(given_events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own Random
    assert _folded(shuffled) == _folded(given_events)


@given(st.lists(st.lists(events(), max_size=15), max_size=5), st.randoms(use_true_random=False))
def test_any_grouping_gives_the_same_rows(groups: list[list[Event]], random: object) -> None:
    whole = _folded([one for group in groups for one in group])
    random.shuffle(groups)  # type: ignore[attr-defined]  # hypothesis' own Random
    merged = Folder()
    for group in groups:
        part = Folder()
        part.add_all(copy_of(one) for one in group)
        merged.add_all(part.events())
    assert content(merged.events()) == whole


@given(st.lists(events(), max_size=60), st.randoms(use_true_random=False))
def test_caps_keep_the_same_keys_and_counts_in_any_order_and_grouping(
    given_events: list[Event], random: object
) -> None:
    def small() -> Folder:
        return Folder(keys_per_place=2, keys_per_rule=5)

    whole = _folded(given_events, small())
    shuffled = list(given_events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own Random
    merged = small()
    for start in range(0, len(shuffled), 7):
        part = small()
        part.add_all(copy_of(one) for one in shuffled[start : start + 7])
        merged.add_all(copy_of(one) for one in part.events())
        merged.events()  # looking at the rows in between must change nothing
    assert content(merged.events()) == whole


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(events(), max_size=10), max_size=4), st.randoms(use_true_random=False))
def test_spills_and_snapshots_hold_what_one_store_would(groups: list[list[Event]], random: object) -> None:
    whole = _folded([one for group in groups for one in group])
    spills = []
    for group in groups:
        with EventManager() as store:
            store.add_all(copy_of(one) for one in group)
            spills.append(store.export_spill())
    random.shuffle(spills)  # type: ignore[attr-defined]  # hypothesis' own Random
    with EventManager() as merged:
        for spill in spills:
            merged.import_spill(spill)
        assert content(merged.load()) == whole
        with EventManager.deserialize(merged.serialize()) as restored:
            assert content(restored.load()) == whole
            assert restored.export_spill() == merged.export_spill()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(events(), max_size=60),
    st.sampled_from([(1, 3), (2, 5), (50, 4), (50, 50)]),
    st.integers(1, 12),
    st.integers(0, 12),
    st.integers(0, 3),
)
def test_a_table_folded_in_place_again_and_again_holds_what_one_folder_would(
    given_events: list[Event], caps: tuple[int, int], buffered: int, loose: int, looks: int
) -> None:
    """Whatever part of the rows is in memory, in the table, or not yet folded, and whoever looks in between."""
    per_place, per_rule = caps
    whole = _folded(given_events, Folder(keys_per_place=per_place, keys_per_rule=per_rule))
    limits = Limits(buffered_rows=buffered, loose_rows=loose, keys_per_place=per_place, keys_per_rule=per_rule)
    with EventManager(limits=limits) as store:
        for number, one in enumerate(given_events):
            store.add(copy_of(one))
            if looks and number % (looks * 7) == 5:
                store.export_spill()
        spill = store.export_spill()
        assert content(store.load()) == whole
        assert store.export_spill() == spill
        assert store.row_count == len(whole)


@settings(max_examples=60, deadline=None)
@given(st.lists(events(), max_size=40), st.integers(0, 40))
def test_a_spill_has_the_same_bytes_whether_a_database_was_used_or_not(
    given_events: list[Event], rows_in_memory: int
) -> None:
    batch = Observation(Source.APPLOG, observation_id="o1", stream="a", digest="d", start=1, redacted=9)
    with EventManager(rules_digest="rules") as store:
        store.add_all(copy_of(one) for one in given_events)
        store.record_observation(batch, lines=7, size=70, truncated_lines=1, redacted=2)
        spill, rows = store.export_spill(), store.row_count
    for limit in (rows_in_memory, 1_000):
        with SpillBuilder("rules", rows_in_memory=limit) as builder:
            builder.add_all(copy_of(one) for one in given_events)
            assert builder.finish(batch, lines=7, size=70, truncated_lines=1, redacted=2) == (spill, rows)


@given(st.lists(events(), min_size=1, max_size=40))
def test_nothing_is_lost_from_the_count(given_events: list[Event]) -> None:
    folder = Folder(keys_per_place=1, keys_per_rule=2)
    folder.add_all(copy_of(one) for one in given_events)
    rows = folder.events()
    held = sum(row.occurrences + row.overflow for row in rows)
    assert held == sum(one.occurrences for one in given_events)


@pytest.mark.parametrize("fold", ["", "last", "max"])
def test_a_row_shows_one_occurrence_whole(fold: str) -> None:
    early = event(timestamp=1, line_num=1, payload={"version": "2.9"}, datum="early", observation_id="o1", fold=fold)
    late = event(timestamp=2, line_num=9, payload={"version": "2.21"}, datum="late", observation_id="o2", fold=fold)
    folder = Folder()
    folder.add_all([late, early])
    (row,) = folder.events()
    shown = (row.datum, row.line_num, row.timestamp, row.payload["version"], row.observation_id)
    assert shown == (("late", 9, 2, "2.21", "o2") if fold else ("early", 1, 1, "2.9", "o1"))
    assert (row.first.timestamp, row.last.timestamp, row.occurrences) == (1, 2, 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(events(), min_size=1, max_size=30), st.integers(2, 50))
def test_a_histogram_with_gaps_comes_back_from_a_spill_count_by_count(given_events: list[Event], times: int) -> None:
    with EventManager() as store, EventManager() as copy:
        for repeat in range(times):
            for one in given_events:
                again = copy_of(one)
                if again.timestamp is not None:
                    again.timestamp += repeat * repeat * MINUTE
                store.add(again)
        assert copy.import_spill(store.export_spill())
        assert content(copy.load()) == content(store.load())


def test_a_thousandfold_of_repeats_leaves_a_spill_as_large() -> None:
    sizes = []
    for count in (60, 60_000):
        with EventManager() as store:
            for number in range(count):
                store.add(event(timestamp=number * 60 * MINUTE // count, line_num=number + 1))
            (row,) = store.load()
            assert row.occurrences == count
            sizes.append(len(store.export_spill()))
    assert sizes[1] <= sizes[0] * 1.1


def _counted(folder: Folder, one: Event) -> None:
    """What extraction does: an event is made only where nothing less will do."""
    key, declared = fold_key(one), one.node_declared
    place = one.timestamp, one.stream, one.line_num
    if not folder.count(key, *place, one.datum, one.occurrences, declared=declared):
        folder.add(copy_of(one))


@given(st.lists(events(), max_size=60))
def test_occurrences_counted_without_an_event_leave_the_same_rows(given_events: list[Event]) -> None:
    folder = Folder()
    for one in given_events:
        _counted(folder, one)
    assert content(folder.events()) == _folded(given_events)
