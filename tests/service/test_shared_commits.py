"""Writes of several threads in one transaction: each has its own outcome, and a crash takes none that was told."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.errors import StoreError
from attribution_service.ports import ItemExistsError
from attribution_service.stores.crashing import InjectedCrashError
from attribution_service.stores.local import DATABASE, open_local
from attribution_service.stores.local_objects import SMALL
from service_kit import local_folder_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attribution_service.stores.local import LocalBackEnd

SIZES = {"small": b"s", "large": b"l" * (SMALL + 1)}


class Gate:
    """Once shut, keeps a commit waiting, so that what comes meanwhile is gathered for the next one."""

    def __init__(self) -> None:
        self.open = Event()
        self.open.set()
        self.reached = Event()
        self.steps: list[str] = []

    def shut(self) -> None:
        self.steps.clear()
        self.open.clear()

    def step(self, name: str) -> None:
        self.steps.append(name)
        if not self.open.is_set():
            self.reached.set()
            assert self.open.wait(10)


def together(back_end: LocalBackEnd, gate: Gate, works: list[Callable[[], Any]]) -> list[BaseException | None]:
    """What each raised, all but the first in one transaction."""

    def outcome(work: Callable[[], Any]) -> BaseException | None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 -- what the test is about
            return error
        return None

    gate.shut()
    with ThreadPoolExecutor(len(works) + 1) as pool:
        first = pool.submit(back_end.store.sessions.put, item("first"))
        assert gate.reached.wait(10)
        found = [pool.submit(outcome, work) for work in works]
        time.sleep(0.2)  # until they queue
        gate.open.set()
        first.result()
        outcomes = [each.result() for each in found]
    assert gate.steps.count("gathered") == 2
    return outcomes


def item(name: str) -> dict[str, Any]:
    return {"pk": "p", "sk": name}


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def back_end(folder: Path, gate: Gate) -> Iterator[LocalBackEnd]:
    made = open_local(folder)
    made.store.put_batch("o/taken", b"first", item("taken"))
    made.close()
    made = open_local(folder, step=gate.step)
    yield made
    made.close()


def test_a_lost_condition_and_a_failing_statement_cost_their_neighbours_nothing(
    back_end: LocalBackEnd, gate: Gate
) -> None:
    store = back_end.store
    outcomes = together(
        back_end,
        gate,
        [
            lambda: store.put_batch("o/1", b"1", item("1")),
            lambda: store.put_batch("o/taken", b"second", item("taken")),
            lambda: back_end.database.write("INSERT INTO nowhere VALUES (?)", [1]),
            lambda: back_end.database.run(lambda _: 1 // 0),
            lambda: store.put_batch("o/2", b"2", item("2")),
        ],
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [type(None), ItemExistsError, StoreError, ZeroDivisionError, type(None)]
    assert [found["sk"] for found in store.sessions.query("p")] == ["1", "2", "first", "taken"]
    assert {info.key: store.objects.get(info.key) for info in store.objects.list("o/")} == {
        "o/1": b"1",
        "o/2": b"2",
        "o/taken": b"first",
    }


def test_when_the_disk_is_full_everyone_is_told_and_later_goes_on(back_end: LocalBackEnd, gate: Gate) -> None:
    """SQLite undoes the whole transaction then, also what had worked."""
    store = back_end.store
    pages = back_end.database.run(lambda writer: writer.execute("PRAGMA page_count").fetchone()[0])
    back_end.database.run(lambda writer: writer.execute(f"PRAGMA max_page_count = {pages + 4}").fetchall())
    works = [
        lambda number=number: store.put_batch(f"o/{number}", b"x" * SMALL, item(str(number))) for number in range(3)
    ]
    outcomes = together(back_end, gate, works)
    assert [type(outcome) for outcome in outcomes] == [StoreError] * 3
    assert "full" in str(outcomes[0])
    assert [found["sk"] for found in store.sessions.query("p")] == ["first", "taken"]
    back_end.database.run(lambda writer: writer.execute("PRAGMA max_page_count = 1000000").fetchall())
    for work in works:
        work()
    assert len(list(store.objects.list("o/"))) == 4


@pytest.mark.parametrize("where", ["gathered", "written", "committed"])
def test_a_crash_on_the_way_through_a_commit_leaves_all_of_it_or_nothing(folder: Path, where: str) -> None:
    def step(name: str) -> None:
        if name == where:
            raise InjectedCrashError(name)

    back_end = open_local(folder, step=step)
    with pytest.raises(InjectedCrashError):
        back_end.store.put_batch("o/1", b"1", item("1"))
    back_end.close()
    with local_folder_store(folder) as store:
        there = where == "committed"
        assert (store.sessions.get("p", "1") is not None) == there
        assert len(list(store.objects.list(""))) == there
        if there:
            with pytest.raises(ItemExistsError):
                store.put_batch("o/1", b"1", item("1"))
        else:
            store.put_batch("o/1", b"1", item("1"))


@pytest.mark.parametrize("size", SIZES)
def test_an_item_is_never_there_without_its_object(folder: Path, size: str) -> None:
    with local_folder_store(folder) as store:
        store.put_batch("o/1", SIZES[size], item("1"))
        store.objects.put("o/2", SIZES[size])
        store.put_batch("o/2", b"another", item("2"))  # of an earlier try, in whichever form
        assert [store.objects.get(key) for key in ("o/1", "o/2")] == [SIZES[size]] * 2
        with pytest.raises(ItemExistsError):
            store.put_batch("o/3", SIZES[size], item("1"))


DOOMED = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from attribution_service.stores.local import open_local
from attribution_service.stores.local_objects import SMALL
steps = count()
def step(name):
    if name == sys.argv[2] and next(steps) >= 40:
        os.kill(os.getpid(), 9)
store = open_local(Path(sys.argv[1]), step=step).store
numbers = count()
def work(_):
    while True:
        number = next(numbers)
        body = str(number).encode() * (SMALL if number % 16 == 15 else 1)
        store.put_batch(f"o/{number}", body, {"pk": "p", "sk": str(number), "size": len(body)})
        os.write(1, f"{number}\\n".encode())
with ThreadPoolExecutor(6) as pool:
    list(pool.map(work, range(6)))
"""


@pytest.mark.parametrize("where", ["gathered", "written", "committed"])
def test_a_process_killed_amid_a_shared_commit_loses_nothing_that_was_told(folder: Path, where: str) -> None:
    command = [sys.executable, "-c", DOOMED, str(folder), where]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 -- our own program
    assert done.returncode == -signal.SIGKILL, done.stderr
    told = done.stdout.split()
    assert len(told) >= 20
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with local_folder_store(folder) as store:
        items = {found["sk"]: found["size"] for found in store.sessions.query("p")}
        assert set(told) <= set(items)
        for number, size in items.items():
            assert store.objects.head(f"o/{number}").size == size
        store.put_batch("o/next", b"x", item("next"))
