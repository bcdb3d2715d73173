"""Folding of repeats: what one row says about many lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from attribution_lib.events.event import Clock, Position
from attribution_lib.events.fold import MAX_BUCKETS, MAX_SAMPLES, fold_key, key_digest
from attribution_lib.events.folder import Folder, Latest
from event_kit import MINUTE, event

if TYPE_CHECKING:
    from attribution_lib.events.event import Event


def test_a_million_identical_lines_are_one_row_that_says_so() -> None:
    folder = Folder()
    first = event(timestamp=0, line_num=1)
    key = fold_key(first)
    folder.add(first)
    for line in range(2, 11):
        folder.add(event(timestamp=line * MINUTE, line_num=line))
    for line in range(11, 100_001):
        assert folder.bump(key, line * MINUTE, "app.log", line)
    (row,) = folder.events()
    assert row.occurrences == 100_000
    assert row.first == Position(0, "app.log", 1)
    assert row.last == Position(100_000 * MINUTE, "app.log", 100_000)
    assert len(row.samples) == MAX_SAMPLES
    assert len(row.times) <= MAX_BUCKETS
    assert sum(row.times.values()) == 100_000


def test_bump_refuses_what_would_be_shown_or_sampled() -> None:
    folder = Folder()
    for line in range(10, 20):
        folder.add(event(line_num=line))
    key = fold_key(event())
    assert folder.bump(key, None, "app.log", 50)
    assert not folder.bump(key, None, "app.log", 3)
    assert not folder.bump(fold_key(event(node="another")), None, "app.log", 50)
    assert sum(row.occurrences for row in folder.events()) == 11


def test_rules_that_keep_the_last_payload_are_never_bumped() -> None:
    folder = Folder()
    for line in range(10):
        folder.add(event(line_num=line, fold="last"))
    assert not folder.bump(fold_key(event(fold="last")), None, "app.log", 99)


def test_untimed_events_of_two_streams_stay_apart_and_timed_ones_do_not() -> None:
    folder = Folder()
    folder.add_all(event(stream=stream) for stream in "ab")
    assert len(folder) == 2
    folder.add_all(event(stream=stream, timestamp=5) for stream in "ab")
    assert len(folder) == 3


def test_yearless_stamps_of_december_and_january_are_two_rows() -> None:
    december, january = 1093 * 86_400_000_000, 731 * 86_400_000_000
    folder = Folder()
    folder.add_all(event(timestamp=at, clock=Clock.YEARLESS) for at in (december, january, january + MINUTE))
    assert sorted(row.occurrences for row in folder.events()) == [1, 2]


def test_buckets_double_on_absolute_multiples() -> None:
    folder = Folder()
    folder.add_all(event(timestamp=minute * MINUTE, line_num=minute) for minute in range(7, 7 + 65))
    (row,) = folder.events()
    assert row.width == 2
    assert row.times == {3: 1, **dict.fromkeys(range(4, 35), 2), 35: 2}


def test_a_repeated_message_counts_as_often_as_it_says() -> None:
    folder = Folder()
    folder.add(event(timestamp=MINUTE, occurrences=5))
    folder.add(event(timestamp=MINUTE, line_num=2))
    (row,) = folder.events()
    assert (row.occurrences, row.times) == (6, {1: 6})


def test_one_place_keeps_its_share_of_keys_and_counts_the_rest() -> None:
    folder = Folder(keys_per_place=3)
    folder.add_all(event(key_fields=(str(number),)) for number in range(10))
    folder.add_all(event(node="node-0002", key_fields=(str(number),)) for number in range(2))
    rows = folder.events()
    kept = {row.key_fields for row in rows if row.node == "node-0001"}
    smallest = sorted((event(key_fields=(str(number),)) for number in range(10)), key=lambda e: key_digest(fold_key(e)))
    assert kept == {row.key_fields for row in smallest[:3]}
    assert sum(row.overflow for row in rows) == 7
    assert len(rows) == 5


def test_a_key_put_out_does_not_come_back() -> None:
    folder = Folder(keys_per_place=1)
    for _ in range(3):
        folder.add_all(event(key_fields=(str(number),)) for number in range(5))
    (row,) = folder.events()
    assert (row.occurrences, row.overflow) == (3, 12)


def test_distinct_nodes_beyond_the_rule_cap_leave_no_trace_but_their_count() -> None:
    folder = Folder(keys_per_rule=50)
    folder.add_all(event(node=f"node-{number}") for number in range(2_000))
    rows = folder.events()
    assert (len(rows), sum(row.overflow for row in rows)) == (50, 1_950)


def test_max_compares_numbers_as_numbers() -> None:
    folder = Folder()
    folder.add_all(
        event(payload={"version": version}, fold="max", line_num=line)
        for line, version in enumerate(["2.9.1", "2.21.5", "2.3"], 1)
    )
    (row,) = folder.events()
    assert row.payload == {"version": "2.21.5"}


def test_advancing_a_row_is_folding_its_event_in() -> None:
    def occurrence(line: int) -> Event:
        return event(timestamp=(line * 7 % 50) * MINUTE, line_num=line, fold="last", payload={"at": str(line)})

    folded, advanced = Folder(), Folder()
    taken = 0
    for line in range(1, 200):
        folded.add(occurrence(line))
        new = occurrence(line)
        place = Position(new.timestamp, new.stream, new.line_num)
        latest = Latest(place, new.payload, new.datum, new.observation_id, new.occurrences, new.node_declared)
        if advanced.advance(fold_key(new), latest):
            taken += 1
        else:
            advanced.add(new)
    assert [asdict(row) for row in advanced.events()] == [asdict(row) for row in folded.events()]
    assert taken > 100


def test_only_rows_that_keep_their_last_occurrence_advance() -> None:
    folder = Folder()
    for line in range(10):
        folder.add(event(line_num=line))
    assert not folder.advance(fold_key(event()), Latest(Position(None, "app.log", 99), {}, "", "o", 1, declared=False))
