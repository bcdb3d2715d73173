"""What only the local store promises: several processes at once, and nothing lost when one of them is killed."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from attribution_service.errors import StoreError
from attribution_service.stores.local import open_local
from service_kit import local_folder_store

WRITER = """
import json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from attribution_service.ports import ItemExistsError, ObjectExistsError
from attribution_service.stores.local import open_local
store = open_local(Path(sys.argv[1])).store
won = 0
number = 0
while {endless} or number < 60:
    try:
        store.objects.put(f"a/b{{number}}/c", sys.argv[2].encode(), if_absent=True)
        store.sessions.put({{"pk": "p", "sk": f"{{number:05d}}", "by": sys.argv[2]}}, if_absent=True)
        print(number, flush=True)
    except (ObjectExistsError, ItemExistsError):
        pass
    number += 1
"""


def writer(folder: Path, name: str, *, endless: bool = False) -> subprocess.Popen[str]:
    """Another process that writes to the store and says what was acknowledged."""
    program = WRITER.format(tests=str(Path(__file__).parent.parent), endless=endless)
    command = [sys.executable, "-c", program, str(folder), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own program


def test_of_several_processes_one_wins_each_key(folder: Path) -> None:
    processes = [writer(folder, name) for name in ("x", "y", "z")]
    told = {name: process.communicate()[0].split() for name, process in zip("xyz", processes, strict=True)}
    assert [process.returncode for process in processes] == [0, 0, 0]
    numbers = [int(number) for lines in told.values() for number in lines]
    with local_folder_store(folder) as store:
        assert store.sessions.count("p") <= 60
        for number in numbers:
            item = store.sessions.get("p", f"{number:05d}")
            assert item is not None
            assert store.objects.get(f"a/b{number}/c").decode() == item["by"]
    assert len(numbers) == len(set(numbers))


def test_a_killed_process_loses_nothing_that_was_acknowledged(folder: Path) -> None:
    process = writer(folder, "x", endless=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    told = [int(number) for number in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    assert told
    with local_folder_store(folder) as store:
        for number in told:
            assert store.sessions.get("p", f"{number:05d}") is not None
            assert store.objects.get(f"a/b{number}/c") == b"x"
        store.objects.put(f"a/b{told[-1]}/d", b"goes on", if_absent=True)


def test_a_draft_is_never_seen(folder: Path) -> None:
    with local_folder_store(folder) as store:
        (folder / "drafts" / "half").write_bytes(b"x")
        store.objects.put("a/b", b"x")
        assert [info.key for info in store.objects.list("")] == ["a/b"]


@pytest.mark.parametrize("key", ["../x", "/etc/passwd", "a//b", "a/../b", ".hidden", "a/.b", "a\x00b", "ä", ""])
def test_a_key_that_leads_elsewhere_is_refused(folder: Path, key: str) -> None:
    with local_folder_store(folder) as store:
        for action in (store.objects.get, store.objects.delete, store.objects.head):
            with pytest.raises(StoreError):
                action(key)
        with pytest.raises(StoreError):
            store.objects.put(key, b"x")


def test_a_database_that_is_none_is_an_error_of_the_store(folder: Path) -> None:
    (folder / "service.db").write_bytes(b"not a database at all, but long enough to be taken for one" * 100)
    with pytest.raises(StoreError, match=re.escape(f"open {folder}/service.db: ")):
        open_local(folder)


def test_whatever_the_database_refuses_is_told_with_its_file(folder: Path) -> None:
    back_end = open_local(folder)
    database, file = back_end.database, re.escape(f"{folder}/service.db")
    with pytest.raises(StoreError, match=f"read {file}: no such table: nowhere"):
        database.rows("SELECT * FROM nowhere", [])
    with pytest.raises(StoreError, match=f"write {file}: no such table: nowhere"):
        database.write("INSERT INTO nowhere VALUES (?)", [1])
    with pytest.raises(StoreError, match=f"write {file}: no such table: nowhere"), database.alone() as writer:
        writer.execute("DELETE FROM nowhere")
    back_end.close()


def test_one_bad_write_of_a_shared_commit_fails_alone_or_with_all_and_nobody_is_lied_to(folder: Path) -> None:
    back_end = open_local(folder)
    with pytest.raises(StoreError):
        back_end.database.write("INSERT INTO nowhere VALUES (?)", [1])
    back_end.store.sessions.put({"pk": "p", "sk": "s"})
    assert back_end.store.sessions.get("p", "s") == {"pk": "p", "sk": "s"}
    back_end.close()


def test_what_is_stored_can_be_read_by_eye(folder: Path) -> None:
    with local_folder_store(folder) as store:
        store.verdicts.put({"pk": "c#1", "sk": "000000#r", "outcome": "nvlink"})
        rows = open_local(folder).database.rows("SELECT pk, sk, doc FROM verdicts", ())
    assert [(pk, sk, json.loads(doc)) for pk, sk, doc in rows] == [("c#1", "000000#r", {"outcome": "nvlink"})]


@pytest.mark.parametrize(
    "statements",
    [["CREATE TABLE sessions (pk)", "PRAGMA user_version = 9999"], ["CREATE TABLE cookies (host)"]],
    ids=["of a later version", "of another program"],
)
def test_a_database_that_is_not_ours_is_refused_and_left_as_it_is(folder: Path, statements: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / "service.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"later version or by another program.*expected.*another folder"):
        open_local(folder)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_told_as_such_and_not_as_a_full_disk(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "service.db").write_bytes(b"not a database at all, but long enough to be taken for one" * 100)
    with pytest.raises(StoreError, match="move the file away") as caught:
        open_local(folder)
    assert "disk with room" not in str(caught.value)


def test_a_store_that_cannot_be_written_says_so_before_anybody_writes(folder: Path) -> None:
    back_end = open_local(folder)
    back_end.store.require_writable()
    back_end.database.run(lambda connection: connection.execute("PRAGMA query_only = on"))
    with pytest.raises(StoreError, match=r"service\.db.*expected a folder that can be written"):
        back_end.store.require_writable()
    back_end.close()
