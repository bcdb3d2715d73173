"""Small objects are rows of the local database, large ones files; what an earlier version left is files throughout."""

from __future__ import annotations

import io
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from attribution_service.errors import DuplicateObservationError, NotFoundError
from attribution_service.ports import ObjectExistsError, ObjectMissingError
from attribution_service.replay import replay
from attribution_service.retention import sweep
from attribution_service.service import EVERYTHING
from attribution_service.sessions import delete_session
from attribution_service.stores.local import DATABASE, open_local
from attribution_service.stores.local_files import ObjectFiles
from attribution_service.stores.local_objects import SMALL
from service_kit import World, local_folder_store

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

KEY = "a/b/c"
LARGE = b"l" * (SMALL + 1)
BODIES = {"row": b"s" * SMALL, "file": LARGE}


def files_in(folder: Path) -> list[str]:
    """Keys of the objects that are files."""
    root = folder / "objects"
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def as_an_earlier_version_left_it(folder: Path) -> int:
    """Turn a folder's objects into files and drop what that version did not know; how many objects there are."""
    files = ObjectFiles(folder)
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        rows = database.execute("SELECT key, body FROM objects").fetchall()
        for key, body in rows:
            with files.draft(key, body) as draft:
                files.place(draft, key, if_absent=True)
        database.execute("DROP TABLE objects")
    return len(files_in(folder))


def distinct_lines(count: int, name: str) -> list[str]:
    """Lines that fold into nothing smaller."""
    return [f"MARK batch={sha256(f'{name} {number}'.encode()).hexdigest()}" for number in range(count)]


def test_a_small_object_is_no_file_and_a_large_one_is(folder: Path) -> None:
    with local_folder_store(folder) as store:
        store.objects.put("small/bytes", BODIES["row"])
        store.objects.put("small/file", io.BytesIO(b"x"))
        store.objects.put("large/bytes", LARGE)
        store.objects.put("large/file", io.BytesIO(LARGE))
        assert files_in(folder) == ["large/bytes", "large/file"]
        assert [info.key for info in store.objects.list("")] == [
            "large/bytes",
            "large/file",
            "small/bytes",
            "small/file",
        ]


@pytest.mark.parametrize("first", BODIES)
@pytest.mark.parametrize("second", BODIES)
def test_an_object_may_become_one_of_the_other_kind(folder: Path, first: str, second: str) -> None:
    with local_folder_store(folder) as store:
        store.objects.put(KEY, BODIES[first], if_absent=True)
        with pytest.raises(ObjectExistsError):
            store.objects.put(KEY, BODIES[second], if_absent=True)
        assert store.objects.get(KEY) == BODIES[first]
        store.objects.put(KEY, BODIES[second])
        assert store.objects.get(KEY) == BODIES[second]
        assert [(info.key, info.size) for info in store.objects.list("a/")] == [(KEY, len(BODIES[second]))]
        assert store.objects.head(KEY).size == len(BODIES[second])
        with store.objects.open(KEY) as stream:
            assert stream.read() == BODIES[second]
        assert files_in(folder) == ([KEY] if second == "file" else [])
        store.objects.delete(KEY)
        with pytest.raises(ObjectMissingError):
            store.objects.get(KEY)


def test_what_a_crash_left_beside_a_row_is_not_seen_and_goes_with_it(folder: Path) -> None:
    with local_folder_store(folder) as store:
        store.objects.put(KEY, b"the row")
        files = ObjectFiles(folder)
        with files.draft(KEY, LARGE) as draft:
            files.place(draft, KEY, if_absent=True)
        assert store.objects.get(KEY) == b"the row"
        assert [info.size for info in store.objects.list("a/")] == [7]
        assert store.objects.delete_all([KEY]) == 1
        assert list(store.objects.list("a/")) == []


def test_of_many_that_put_bodies_of_both_kinds_at_once_one_wins(folder: Path) -> None:
    with local_folder_store(folder) as store, local_folder_store(folder) as neighbour:

        def put(number: int) -> bytes | None:
            body = str(number).encode() * (SMALL if number % 2 else 1)
            try:
                (store, neighbour)[number // 2 % 2].objects.put(KEY, body, if_absent=True)
            except ObjectExistsError:
                return None
            return body

        with ThreadPoolExecutor(8) as pool:
            won = [body for body in pool.map(put, range(10, 42)) if body is not None]
        assert won == [store.objects.get(KEY)]
        assert len(list(store.objects.list(""))) == 1


def test_a_reader_always_finds_an_object_whose_kind_changes(folder: Path) -> None:
    with local_folder_store(folder) as store:
        store.objects.put(KEY, LARGE)

        def change(number: int) -> None:
            store.objects.put(KEY, BODIES["row" if number % 2 else "file"])

        def read(_: int) -> int:
            return len(store.objects.get(KEY))

        with ThreadPoolExecutor(4) as pool:
            changes = [pool.submit(change, number) for number in range(60)]
            seen = Counter(pool.map(read, range(400)))
            for done in changes:
                done.result()
        assert set(seen) <= {SMALL, SMALL + 1}
        assert store.objects.get(KEY) in BODIES.values()


def test_a_verdict_stands_on_small_and_large_spills_alike(folder: Path, marking: RuleEngine) -> None:
    with local_folder_store(folder) as store:
        world = World(store, marking)
        world.open()
        world.send("MARK batch=one")
        world.send(*distinct_lines(1_900, "a"), stream="large")
        world.send("MARK batch=two", stream="small")
        assert len([key for key in files_in(folder) if "/spill/" in key]) == 1
        verdict = world.verdict()
        assert verdict["based_on"]["batches"] == 3
        assert len(verdict["collections"]["marks"]) == 1_902
        with pytest.raises(DuplicateObservationError):
            world.send(*distinct_lines(1_900, "a"), stream="large")
        delete_session(world.service, EVERYTHING, "s")
        assert world.listed() == files_in(folder) == []


def test_a_folder_of_an_earlier_version_goes_on(folder: Path, marking: RuleEngine) -> None:
    with local_folder_store(folder) as store:
        world = World(store, marking)
        world.with_settings(evidence_days=7)
        world.open()
        world.send("MARK batch=one")
        world.send("MARK batch=two", stream="b.log")
        before = world.verdict()
    assert as_an_earlier_version_left_it(folder) >= 6  # job, spills, bodies, manifest, snapshot or verdict
    with local_folder_store(folder) as store:
        world = World(store, marking)
        world.with_settings(evidence_days=7)
        assert world.verdict() == before
        with pytest.raises(DuplicateObservationError):
            world.send("MARK batch=one")
        world.send("MARK batch=three", stream="c.log")
        assert set(world.verdict()["collections"]["marks"]) == {"one", "two", "three"}
        (again,) = replay(world.service, EVERYTHING, marking, since=0)
        assert (again.problem, again.changed) == ("", False)
        delete_session(world.service, EVERYTHING, "s")
        assert world.listed("attributors/") == []
        assert world.listed("evidence/") != []
        world.now += 40 * 86_400
        assert sweep(world.service).evidence >= 4
        assert world.listed() == files_in(folder) == []


def test_sessions_of_an_earlier_version_are_swept(folder: Path, marking: RuleEngine) -> None:
    with local_folder_store(folder) as store:
        world = World(store, marking)
        world.open()
        world.send("MARK batch=one")
    as_an_earlier_version_left_it(folder)
    back_end = open_local(folder)
    world = World(back_end.store, marking)
    world.now += 10 * 86_400
    assert sweep(world.service).sessions == 1
    assert world.listed() == files_in(folder) == []
    with pytest.raises(NotFoundError):
        world.send("MARK batch=two")
    back_end.close()
