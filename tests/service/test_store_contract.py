"""One contract, every back end: what the service relies on and nothing more."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from attribution_service.errors import InvalidRequestError, StoreError
from attribution_service.ports import ItemChangedError, ItemExistsError, ObjectExistsError, ObjectMissingError

if TYPE_CHECKING:
    from attribution_service.ports import Store

KEY = "attributors/c:1:0/01J/spill/x"


def test_an_object_is_read_as_it_was_put(store: Store) -> None:
    store.objects.put(KEY, b"\x00body\xff")
    assert store.objects.get(KEY) == b"\x00body\xff"
    assert store.objects.head(KEY).size == 6
    with store.objects.open(KEY) as stream:
        assert stream.read(3) == b"\x00bo"
        assert stream.read() == b"dy\xff"


def test_a_file_is_put_from_where_it_stands(store: Store) -> None:
    file = io.BytesIO(b"skipped kept")
    file.seek(8)
    store.objects.put(KEY, file)
    assert store.objects.get(KEY) == b"kept"


def test_an_empty_object_is_an_object(store: Store) -> None:
    store.objects.put(KEY, b"")
    assert store.objects.get(KEY) == b""


@pytest.mark.parametrize("action", ["get", "open", "head"])
def test_a_missing_object_is_said_to_be_missing(store: Store, action: str) -> None:
    with pytest.raises(ObjectMissingError):
        getattr(store.objects, action)(KEY)


def test_the_folder_of_an_object_is_no_object(store: Store) -> None:
    store.objects.put(KEY, b"x")
    for action in (store.objects.get, store.objects.open, store.objects.head):
        with pytest.raises(ObjectMissingError):
            action(KEY.rpartition("/")[0])


def test_put_if_absent_keeps_the_first_body(store: Store) -> None:
    store.objects.put(KEY, b"first", if_absent=True)
    with pytest.raises(ObjectExistsError):
        store.objects.put(KEY, b"second", if_absent=True)
    assert store.objects.get(KEY) == b"first"


def test_a_plain_put_replaces(store: Store) -> None:
    store.objects.put(KEY, b"first")
    store.objects.put(KEY, b"second")
    assert store.objects.get(KEY) == b"second"


def test_one_of_many_puts_at_once_wins(store: Store) -> None:
    def put(number: int) -> bool:
        try:
            store.objects.put(KEY, str(number).encode(), if_absent=True)
        except ObjectExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(put, range(16)))
    assert won.count(True) == 1
    assert store.objects.get(KEY) == str(won.index(True)).encode()


def test_objects_are_listed_under_a_prefix(store: Store) -> None:
    for key in ("a/b/2", "a/b/1", "a/b-c/3", "a/bb", "z/1"):
        store.objects.put(key, key.encode())
    assert sorted(info.key for info in store.objects.list("a/b")) == ["a/b-c/3", "a/b/1", "a/b/2", "a/bb"]
    assert sorted(info.key for info in store.objects.list("a/b/")) == ["a/b/1", "a/b/2"]
    assert [(info.key, info.size) for info in store.objects.list("z/")] == [("z/1", 3)]
    assert list(store.objects.list("nothing/")) == []


def test_delete_removes_and_does_not_mind_a_missing_object(store: Store) -> None:
    store.objects.put(KEY, b"x")
    store.objects.delete(KEY)
    store.objects.delete(KEY)
    with pytest.raises(ObjectMissingError):
        store.objects.get(KEY)
    store.objects.put(KEY, b"again", if_absent=True)
    assert store.objects.get(KEY) == b"again"


def test_a_put_succeeds_however_often_its_neighbours_are_removed(store: Store) -> None:
    def put(number: int) -> None:
        for turn in range(15):
            store.objects.put(f"a/b/c{number}/{turn}", b"x", if_absent=True)
            store.objects.delete(f"a/b/c{number}/{turn}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    assert list(store.objects.list("a/")) == []


def test_a_batch_is_its_object_and_its_item(store: Store) -> None:
    store.put_batch(KEY, b"spill", {"pk": "p", "sk": "s", "n": 1})
    assert store.objects.get(KEY) == b"spill"
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "n": 1}


def test_a_batch_whose_item_is_there_is_refused_and_changes_nothing(store: Store) -> None:
    store.put_batch(KEY, b"spill", {"pk": "p", "sk": "s", "n": 1})
    with pytest.raises(ItemExistsError):
        store.put_batch(KEY, b"another", {"pk": "p", "sk": "s", "n": 2})
    assert store.objects.get(KEY) == b"spill"
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "n": 1}


def test_a_batch_takes_the_object_that_an_earlier_try_left(store: Store) -> None:
    store.objects.put(KEY, b"spill", if_absent=True)
    store.put_batch(KEY, b"spill", {"pk": "p", "sk": "s"})
    assert store.sessions.get("p", "s") is not None


def test_one_of_many_batches_of_one_id_wins(store: Store) -> None:
    def put(number: int) -> bool:
        try:
            store.put_batch(f"{KEY}{number % 2}", b"spill", {"pk": "p", "sk": "s", "n": number})
        except ItemExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(put, range(16)))
    found = store.sessions.get("p", "s")
    assert won.count(True) == 1
    assert found is not None
    assert found["n"] == won.index(True)


def test_an_upload_url_names_what_must_be_sent(store: Store) -> None:
    sha256 = hashlib.sha256(b"body").hexdigest()
    put = store.objects.presign_put(KEY, size=4, sha256=sha256, content_type="text/plain", expires_in=60)
    assert put.url.startswith("http")
    assert put.headers["Content-Type"] == "text/plain"
    assert put.headers["If-None-Match"] == "*"
    assert put.expires_at > 0


def test_an_item_is_read_as_it_was_put(store: Store) -> None:
    item = {"pk": "A#1", "sk": "SESSION", "text": "ü", "number": 2**53, "flag": True, "list": ["a", "b"], "empty": ""}
    store.sessions.put({**item, "nothing": None})
    assert store.sessions.get("A#1", "SESSION") == item
    assert store.sessions.get("A#1", "OTHER") is None


def test_a_word_that_a_back_end_reserves_is_a_name_like_any_other(store: Store) -> None:
    item = {"pk": "A#1", "sk": "s", "name": "n", "size": 1, "date": "d", "user": "u", "ttl": 5, "state": "open"}
    store.sessions.put(item, if_absent=True)
    store.sessions.update("A#1", "s", {"size": 2, "date": None}, expect={"name": "n", "user": "u"})
    assert store.sessions.get("A#1", "s") == {key: value for key, value in item.items() if key != "date"} | {"size": 2}


def test_put_if_absent_keeps_the_first_item(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s", "n": 1}, if_absent=True)
    with pytest.raises(ItemExistsError):
        store.sessions.put({"pk": "p", "sk": "s", "n": 2}, if_absent=True)
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "n": 1}


def test_an_item_that_is_old_enough_is_replaced(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s", "expires_at": 100})
    with pytest.raises(ItemExistsError):
        store.sessions.put({"pk": "p", "sk": "s", "expires_at": 500}, if_absent=True, or_before=("expires_at", 100))
    store.sessions.put({"pk": "p", "sk": "s", "expires_at": 500}, if_absent=True, or_before=("expires_at", 101))
    store.sessions.put({"pk": "p", "sk": "new", "expires_at": 1}, if_absent=True, or_before=("expires_at", 101))
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "expires_at": 500}


def test_update_changes_only_what_holds_what_is_expected(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s", "ver": 1, "snapshot": "x", "flag": True})
    for expect in ({"ver": 2}, {"ver": 1, "snapshot": "y"}, {"snapshot": None}, {"flag": False}):
        with pytest.raises(ItemChangedError):
            store.sessions.update("p", "s", {"ver": 9}, expect=expect)
    store.sessions.update("p", "s", {"ver": 2}, expect={"ver": 1, "snapshot": "x", "other": None, "flag": True})
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "ver": 2, "snapshot": "x", "flag": True}


def test_update_makes_no_item(store: Store) -> None:
    for expect in ({}, {"ver": None}):
        with pytest.raises(ItemChangedError):
            store.sessions.update("p", "none", {"ver": 1}, expect=expect)
    assert store.sessions.get("p", "none") is None


def test_one_of_many_updates_of_a_version_wins(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s", "ver": 0})

    def move(number: int) -> bool:
        try:
            store.sessions.update("p", "s", {"ver": 1, "by": number}, expect={"ver": 0})
        except ItemChangedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(move, range(16)))
    assert won.count(True) == 1
    assert store.sessions.get("p", "s") == {"pk": "p", "sk": "s", "ver": 1, "by": won.index(True)}


def test_delete_says_whether_it_removed(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s", "generation": "g1"})
    assert not store.sessions.delete("p", "s", expect={"generation": "g2"})
    assert store.sessions.delete("p", "s", expect={"generation": "g1"})
    assert not store.sessions.delete("p", "s", expect={"generation": "g1"})
    assert store.sessions.get("p", "s") is None


def test_a_partition_is_read_whole_and_in_order(store: Store) -> None:
    for number in range(40):
        store.sessions.put({"pk": "p", "sk": f"BATCH#g1#{number:03d}", "pad": "x" * 50_000})
    store.sessions.put({"pk": "p", "sk": "BATCH#g2#0"})
    store.sessions.put({"pk": "q", "sk": "BATCH#g1#0"})
    found = [item["sk"] for item in store.sessions.query("p", "BATCH#g1#")]
    assert found == [f"BATCH#g1#{number:03d}" for number in range(40)]
    assert store.sessions.count("p", "BATCH#g1#") == 40
    assert store.sessions.count("p") == 41
    assert store.sessions.count("none") == 0


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_pages_of_a_partition_follow_one_another(store: Store, *, descending: bool) -> None:
    for number in range(7):
        store.sessions.put({"pk": "p", "sk": f"x{number}"})
    store.sessions.put({"pk": "p", "sk": "y"})
    found: list[str] = []
    cursor = None
    for _ in range(5):
        page = store.sessions.query_page("p", "x", cursor=cursor, limit=3, descending=descending)
        found += [item["sk"] for item in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == sorted((f"x{number}" for number in range(7)), reverse=descending)


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_pages_of_an_index_follow_its_sort_key(store: Store, *, descending: bool) -> None:
    for number in range(7):
        store.sessions.put({"pk": f"A#{number}", "sk": "SESSION", "open_cluster": "c", "created": number // 2})
    store.sessions.put({"pk": "A#8", "sk": "SESSION", "open_cluster": "d", "created": 0})
    store.sessions.put({"pk": "A#9", "sk": "BATCH#"})
    found: list[str] = []
    cursor = None
    for _ in range(6):
        page = store.sessions.query_index("open_sessions", "c", cursor=cursor, limit=2, descending=descending)
        found += [item["pk"] for item in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(found) == [f"A#{number}" for number in range(7)]
    order = [int(pk[2:]) // 2 for pk in found]
    assert order == sorted(order, reverse=descending)


def test_an_index_forgets_what_lost_its_attribute(store: Store) -> None:
    store.verdicts.put({"pk": "c#1", "sk": "000000#r", "cluster_day": "c#2026-06-01", "at": 5, "outcome": "nvlink"})
    assert [item["outcome"] for item in store.verdicts.query_index("by_day", "c#2026-06-01").items] == ["nvlink"]
    store.verdicts.update("c#1", "000000#r", {"cluster_day": None}, expect={})
    assert store.verdicts.query_index("by_day", "c#2026-06-01").items == []
    assert store.verdicts.get("c#1", "000000#r") is not None


@pytest.mark.parametrize("cursor", ["", "x", "W10", "bm8", "WzFd", "W1tbW1tbW1td"])
def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="cursor"):
        store.sessions.query_page("p", cursor=cursor)
    with pytest.raises(InvalidRequestError, match="cursor"):
        store.sessions.query_index("open_sessions", "c", cursor=cursor)


def test_a_token_counts_once(store: Store) -> None:
    assert store.verdicts.count_once("NODE#c#n1", "MONTH#2026-06", "job1:0", ttl=1)
    assert not store.verdicts.count_once("NODE#c#n1", "MONTH#2026-06", "job1:0", ttl=1)
    assert store.verdicts.count_once("NODE#c#n1", "MONTH#2026-06", "job2:0", ttl=2)
    item = store.verdicts.get("NODE#c#n1", "MONTH#2026-06")
    assert item is not None
    assert (item["n"], sorted(item["seen"]), item["ttl"]) == (2, ["job1:0", "job2:0"], 2)


def test_a_token_counts_once_however_many_bring_it(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(lambda n: store.verdicts.count_once("NODE#c#n1", "m", f"j{n % 4}", ttl=1), range(32)))
    assert counted.count(True) == 4
    item = store.verdicts.get("NODE#c#n1", "m")
    assert item is not None
    assert item["n"] == 4


def test_what_was_counted_can_be_taken_back_once(store: Store) -> None:
    place = ("NODE#c#n1", "MONTH#2026-06")
    assert not store.verdicts.uncount(*place, "job1:0")
    for token in ("job1:0", "job2:0"):
        store.verdicts.count_once(*place, token, ttl=1)
    assert store.verdicts.uncount(*place, "job1:0")
    assert not store.verdicts.uncount(*place, "job1:0")
    item = store.verdicts.get(*place)
    assert item is not None
    assert (item["n"], list(item["seen"])) == (1, ["job2:0"])
    assert store.verdicts.uncount(*place, "job2:0")
    emptied = store.verdicts.get(*place)
    assert emptied is not None
    assert (emptied["n"], list(emptied.get("seen", ()))) == (0, [])
    assert store.verdicts.count_once(*place, "job1:0", ttl=1)


def test_an_item_over_the_limit_is_refused(store: Store) -> None:
    with pytest.raises(StoreError):
        store.sessions.put({"pk": "p", "sk": "s", "text": "x" * 420_000})
    assert store.sessions.get("p", "s") is None


def test_tables_do_not_share_items(store: Store) -> None:
    store.sessions.put({"pk": "p", "sk": "s"})
    assert store.verdicts.get("p", "s") is None
