"""The event store of one job: what it keeps, gives back, discards and refuses."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from copy import copy
from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import StoreClosedError, StoreFormatError
from attribution_lib.events.compaction import Limits
from attribution_lib.events.database import connect, empty_tables, fill_tables, moved_to_disk
from attribution_lib.events.event import EventState, EventType, ExplainedBy
from attribution_lib.events.fold import seed
from attribution_lib.events.folder import Folder
from attribution_lib.events.ordered import kind_of
from attribution_lib.events.schema import SCHEMA_VERSION
from attribution_lib.events.spill import split_header
from attribution_lib.events.table import EventManager
from attribution_lib.observation import Observation, Source
from event_kit import MINUTE, content, copy_of, event

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.events.event import Event


def _batch(observation_id: str = "batch-1", digest: str = "d1") -> Observation:
    return Observation(Source.APPLOG, observation_id=observation_id, stream="app.log", digest=digest)


def test_load_gives_fresh_events_so_that_attribution_cannot_touch_the_table() -> None:
    with EventManager() as store:
        store.add(event(payload={"code": "79"}))
        (first,) = store.load()
        first.state = EventState.DISCARDED
        first.node = "elsewhere"
        (second,) = store.load()
        assert (second.state, second.node, second.payload) == (EventState.ACTIVE, "node-0001", {"code": "79"})


def test_every_field_survives_the_table() -> None:
    given = event(
        timestamp=123_456_789,
        rank=3,
        device="0000:1b:00",
        payload={"code": "79", "nested": {"a": [1, None]}, "text": "\u2192 \x1b"},
        key_fields=("79", ""),
        context_before=("before",),
        context_after=("after", ""),
        original_type=EventType.BAD_NODE,
        changed_by="SomeRule",
        explained_by=ExplainedBy("Cause", "syslog", None),
        derived_from="OtherRule",
        state=EventState.DEMOTED,
        node_declared=True,
        occurrences=4,
    )
    with EventManager() as store:
        store.add(given)
        (read,) = store.load()
        assert content([read]) == content([given])


def test_ingesting_and_loading_may_alternate() -> None:
    with EventManager() as store:
        for line in range(1, 6):
            store.add(event(line_num=line))
            (row,) = store.load()
            assert row.occurrences == line
            assert len(row.samples) == line


def test_close_writes_what_is_buffered_and_a_path_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "job.sqlite"
    store = EventManager(path)
    store.add(event())
    store.close()
    with EventManager(path) as again:
        assert len(again.load()) == 1


def test_close_without_flush_discards_what_is_buffered(tmp_path: Path) -> None:
    path = tmp_path / "job.sqlite"
    store = EventManager(path)
    store.add(event())
    store.close(flush=False)
    with EventManager(path) as again:
        assert again.load() == []


def test_a_store_that_is_dropped_discards_what_is_buffered(tmp_path: Path) -> None:
    path = tmp_path / "job.sqlite"
    store = EventManager(path)
    store.add(event())
    del store
    with EventManager(path) as again:
        assert again.load() == []


def test_leaving_with_an_exception_discards_what_is_buffered(tmp_path: Path) -> None:
    path = tmp_path / "job.sqlite"
    store = EventManager(path)
    store.add(event())
    store.__exit__(RuntimeError, RuntimeError("boom"), None)
    with EventManager(path) as again:
        assert again.load() == []


def test_a_closed_store_refuses_everything_but_closing() -> None:
    store = EventManager()
    store.close()
    store.close()
    for use in (store.load, store.flush, store.serialize, store.export_spill, store.observations):
        with pytest.raises(StoreClosedError, match="closed"):
            use()
    with pytest.raises(StoreClosedError):
        store.add(event())


def test_a_batch_is_noted_once() -> None:
    with EventManager() as store:
        assert store.known_digest("batch-1") is None
        assert store.record_observation(_batch(), lines=10, size=200, truncated_lines=1)
        assert not store.record_observation(_batch(), lines=10, size=200)
        assert store.known_digest("batch-1") == "d1"
        (row,) = store.observations()
        assert (row.lines, row.bytes, row.truncated_lines, row.source, row.stream) == (10, 200, 1, "applog", "app.log")


def test_events_may_come_before_their_batch_is_noted() -> None:
    with EventManager() as store:
        store.add(event())
        store.flush()
        assert store.observations() == []
        assert store.record_observation(_batch(), lines=1, size=1)
        assert [row.observation_id for row in store.observations()] == ["batch-1"]


def test_names_are_stored_once() -> None:
    with EventManager() as store:
        store.add_all(event(key_fields=(str(number),), node=f"node-{number % 3}") for number in range(100))
        store.flush()
        connection = store._open()
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 -- fixed names
            for table in ("rules", "symptoms", "nodes", "streams", "event_types", "events")
        }
        assert counts == {"rules": 1, "symptoms": 1, "nodes": 3, "streams": 1, "event_types": 1, "events": 100}


def test_the_view_for_people_repeats_node_and_symptom_in_the_payload() -> None:
    with EventManager(context="c1:4711:0") as store:
        store.add(event(payload={"code": "79"}))
        store.flush()
        row = store._open().execute("SELECT context, event_type, resources, payload FROM event_rows").fetchone()
        assert row == (
            "c1:4711:0",
            "Attribution.node.bad",
            "node-0001",
            '{"code":"79","node":"node-0001","symptom":"Symptom"}',
        )


def test_a_spill_is_imported_once_under_its_id_with_its_batches() -> None:
    with EventManager(rules_digest="abc") as one:
        one.add(event())
        one.record_observation(_batch(), lines=5, size=50)
        spill = one.export_spill()
    assert split_header(gzip.decompress(spill), "spill")[0].rules_digest == "abc"
    with EventManager() as store:
        assert store.import_spill(spill, spill_id="spill-1")
        assert not store.import_spill(spill, spill_id="spill-1")
        assert store.spill_ids() == {"spill-1"}
        assert [row.lines for row in store.observations()] == [5]
        assert [row.occurrences for row in store.load()] == [1]


def test_a_spill_of_repeats_counts_as_its_events_would() -> None:
    """The first ones are kept as samples, the later ones are counted; one that is earlier than all is shown."""
    repeats = [event(line_num=line, timestamp=MINUTE * line) for line in range(30, 0, -1)]
    with EventManager() as plain, EventManager() as merged:
        plain.add_all(copy(one) for one in repeats)
        for number, one in enumerate(repeats):
            with EventManager() as other:
                other.add(one)
                merged.import_spill(other.export_spill(), spill_id=str(number))
        assert content(merged.load()) == content(plain.load())
        assert merged.export_spill() == plain.export_spill()


def test_equal_content_gives_equal_spill_bytes() -> None:
    spills = []
    for order in (1, -1):
        with EventManager() as store:
            store.add_all(event(node=f"node-{number}") for number in range(20)[::order])
            spills.append(store.export_spill())
    assert spills[0] == spills[1]


def test_a_snapshot_is_the_state_before_filtering_with_its_spill_ids_and_rules() -> None:
    with EventManager(rules_digest="abc") as store:
        store.add(event())
        store.import_spill(store.export_spill(), spill_id="s1")
        data = store.serialize()
        expected = content(store.load())
    with EventManager.deserialize(data) as restored:
        assert content(restored.load()) == expected
        assert restored.spill_ids() == {"s1"}
        assert restored.rules_digest == "abc"
        restored.add(event(line_num=7))
        assert [row.occurrences for row in restored.load()] == [3]


def test_a_spill_with_one_damaged_row_among_repeats_changes_nothing() -> None:
    with EventManager() as other:
        other.add(event(payload={"x": "1"}))
        good = other.export_spill()
    bad = gzip.compress(gzip.decompress(good).replace(b'{\\"x\\":\\"1\\"}', b'{\\"x\\":'))
    assert bad != good
    with EventManager() as store:
        store.import_spill(good, spill_id="good")
        before = store.export_spill()
        with pytest.raises(StoreFormatError):
            store.import_spill(bad, spill_id="bad")
        assert store.export_spill() == before
        assert store.spill_ids() == {"good"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        gzip.compress(b"not a header\n"),
        gzip.compress(b'{"rules_digest":"","schema":%d}\n' % SCHEMA_VERSION + b'["e",1,2]'),
        gzip.compress(b'{"rules_digest":"","schema":%d}\n' % SCHEMA_VERSION + b"{broken"),
        gzip.compress(b'{"rules_digest":"","schema":99}\n'),
    ],
)
def test_a_damaged_or_foreign_spill_is_refused_and_changes_nothing(data: bytes) -> None:
    with EventManager() as store:
        store.add(event())
        with pytest.raises(StoreFormatError):
            store.import_spill(data, spill_id="bad")
        assert len(store.load()) == 1
        assert store.spill_ids() == frozenset()


@pytest.mark.parametrize(
    "data", [b"", b"junk", b'{"rules_digest":"","schema":%d}\nnot a database' % SCHEMA_VERSION, b'{"schema":99}\n']
)
def test_a_damaged_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(StoreFormatError):
        EventManager.deserialize(data)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreFormatError, match="schema version 0"):
        EventManager(path)


def test_loaded_events_are_whole_after_the_table_outgrew_memory() -> None:
    given = event(timestamp=MINUTE, context_before=("before",), payload={"code": "79"})
    with EventManager(limits=Limits(buffered_rows=2)) as store:
        store.add(copy_of(given))
        (loaded,) = store.load()
        store.add_all(event(timestamp=MINUTE, node=f"node-{number:04d}") for number in range(2, 9))
        assert content([loaded]) == content([_seeded(given)])
        assert len(store.load()) == 8
        with EventManager.deserialize(store.serialize()) as restored:
            assert content(restored.load()) == content(store.load())


def test_of_too_many_nodes_a_table_keeps_those_that_a_folder_would_and_forgets_the_other_names() -> None:
    given = [event(timestamp=MINUTE, node=f"node-{number:04d}") for number in range(500)]
    folder = Folder(keys_per_rule=20)
    folder.add_all(copy_of(one) for one in given)
    with EventManager(limits=Limits(buffered_rows=10, loose_rows=0, keys_per_rule=20)) as store:
        for one in given:
            store.add(one)
            if (one.node or "") > "node-0300":
                store.flush()
        store.export_spill()
        assert content(store.load()) == content(folder.events())
        assert store.serialize().count(b"node-") < 200


@pytest.mark.parametrize("source", ["applog", "syslog"])
def test_loaded_events_are_whole_after_their_rows_are_gone(source: str) -> None:
    given = event(
        timestamp=MINUTE, source=source, context_before=("before",), context_after=("after",), payload={"code": "79"}
    )
    with EventManager() as store:
        store.add(copy_of(given))
        (before_folding,) = store.load()
        store.add(event(timestamp=2 * MINUTE, source=source))
        store.export_spill()
        (before_closing,) = store.load()
    assert content([before_folding]) == content([_seeded(given)])
    assert (before_closing.context_before, before_closing.occurrences) == (("before",), 2)


@pytest.mark.parametrize("source", ["applog", "syslog"])
def test_a_copy_of_a_loaded_event_is_as_whole_as_the_event(source: str) -> None:
    with EventManager() as store:
        store.add(event(timestamp=MINUTE, source=source, context_before=("before",), payload={"code": "79"}))
        (loaded,) = store.load()
        assert content([copy(loaded)]) == content([loaded])


@pytest.mark.parametrize("times", [1, 2])
def test_a_store_that_outgrew_memory_gives_each_key_once_kind_by_kind(times: int) -> None:
    """Whether rows that were written one after the other repeat each other is told by what was noted of them."""
    minutes = range(1, times + 1)
    names = [(rule, f"node-{number:04d}") for rule in ("One", "Other") for number in range(40)]
    given = [event(timestamp=minute * MINUTE, rule=rule, node=node) for minute in minutes for rule, node in names]
    folder = Folder()
    folder.add_all(copy_of(one) for one in given)
    with EventManager(limits=Limits(buffered_rows=10, loose_rows=1_000)) as store:
        store.add_all(copy_of(one) for one in given)
        assert content(store.load()) == content(folder.events())
        kinds = store.load_kinds()
        assert {rule for _, rule, _, _ in kinds} == {"One", "Other"}
        assert all(kind_of(one) == kind for kind, events in kinds.items() for one in events)


def test_what_a_payload_may_say_is_known_without_decoding_it() -> None:
    with EventManager() as store:
        store.add(event(timestamp=MINUTE, payload={"peer": "node-0002"}))
        (loaded,) = store.load()
        assert loaded.may_say('"peer"')
        assert not loaded.may_say('"kind"')
        assert event(payload={"kind": "x"}).may_say('"kind"')


def test_a_key_beyond_those_that_a_rule_may_keep_is_counted_and_not_written() -> None:
    with EventManager(limits=Limits(buffered_rows=10, loose_rows=1_000, keys_per_rule=20)) as store:
        for number in range(400):
            store.add(event(timestamp=number, line_num=number + 1, device=str(number)))
        assert store.row_count < 150
        rows = store.load()
        assert len(rows) == 20
        assert sum(row.occurrences + row.overflow for row in rows) == 400


def test_a_store_that_moves_to_disk_takes_all_its_tables_along() -> None:
    in_memory = connect(None)
    in_memory.deserialize(empty_tables())
    fill_tables(in_memory, "context", "digest")
    in_memory.execute("INSERT INTO spills (id) VALUES ('spill-1')")
    in_memory.execute("INSERT INTO nodes (id, name) VALUES (7, 'node-0007')")
    before = list(in_memory.iterdump())
    with closing(moved_to_disk(in_memory)) as on_disk:
        assert list(on_disk.iterdump()) == before


def _seeded(one: Event) -> Event:
    seed(one)
    return one
