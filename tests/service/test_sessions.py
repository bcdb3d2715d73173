"""Opening, describing, listing, changing and deleting sessions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.errors import (
    DuplicateSessionError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    StoreError,
)
from attribution_service.model import OpenRequest, SessionQuery
from attribution_service.retention import sweep
from attribution_service.service import EVERYTHING, Caller
from attribution_service.sessions import (
    delete_session,
    describe_session,
    list_sessions,
    open_session,
    open_sessions_of,
    update_job,
)

if TYPE_CHECKING:
    from attribution_service.ports import ObjectStore
    from service_kit import World

OURS = Caller(frozenset({"alpha"}))


def opened(world: World, *, caller: Caller = EVERYTHING, opened_by: str = "", **request: Any) -> Any:
    job = {"job_id": "4711", "nodes": ["n1", "n2"], **request.pop("job", {})}
    return open_session(world.service, caller, OpenRequest(job=job, **request), opened_by=opened_by)


def test_a_session_is_named_after_its_job(world: World) -> None:
    view = opened(world, job={"cluster": "alpha", "attempt": 2})
    assert view.attributor_id == "alpha:4711:2"
    assert view.expires_at == "2026-05-29T20:26:40.000000Z"
    assert view.job == {"job_id": "4711", "nodes": ["n1", "n2"], "cluster": "alpha", "attempt": 2}
    assert describe_session(world.service, EVERYTHING, "alpha:4711:2") == view


def test_a_job_without_an_id_is_named_by_its_nodes_and_window(world: World) -> None:
    window = {"start": "2026-05-01T00:00:00Z", "end": "2026-05-02T00:00:00Z", "job_id": None}
    view = opened(world, job=window)
    assert view.job_id.startswith("window-")
    assert view.job is not None
    assert view.job["job_id"] == view.job_id


def test_an_open_id_is_not_opened_again(world: World) -> None:
    opened(world)
    with pytest.raises(DuplicateSessionError) as caught:
        opened(world)
    assert caught.value.extras["attributor_id"] == "default:4711:0"
    assert len(world.listed()) == 1


def test_the_opener_may_ask_again(world: World) -> None:
    first = opened(world, opened_by="run-1")
    assert opened(world, opened_by="run-1") == first
    with pytest.raises(DuplicateSessionError):
        opened(world, opened_by="run-2")


def test_an_expired_session_is_gone_and_its_id_is_free(world: World) -> None:
    opened(world, ttl_seconds=60)
    world.now += 59
    describe_session(world.service, EVERYTHING, "default:4711:0")
    world.now += 1
    with pytest.raises(NotFoundError):
        describe_session(world.service, EVERYTHING, "default:4711:0")
    assert list_sessions(world.service, EVERYTHING, SessionQuery()).sessions == []
    assert opened(world).age_seconds == 0


def test_every_fault_of_a_job_is_named(world: World) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        opened(world, job={"attempt": -1, "start": "yesterday", "colour": "red"})
    fields = [fault["field"] for fault in caught.value.extras["faults"]]
    assert fields == ["job.colour", "job.attempt", "job.start"]


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [
        ({"ttl_seconds": 59}, "ttl_seconds"),
        ({"ttl_seconds": 7 * 86_400 + 1}, "ttl_seconds"),
        ({"attributor_id": "beta:1:0"}, "attributor_id"),
        ({"job": {"job_id": "x" * 195}}, "attributor_id"),
    ],
    ids=["ttl too short", "ttl too long", "id of another cluster", "default id too long"],
)
def test_a_session_out_of_bounds_is_refused(world: World, request_fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        opened(world, **request_fields)
    assert [fault["field"] for fault in caught.value.extras["faults"]] == [field]
    assert world.listed() == []


@pytest.mark.parametrize("ttl", [60, 7 * 86_400])
def test_a_ttl_at_its_bounds_is_taken(world: World, ttl: int) -> None:
    assert opened(world, ttl_seconds=ttl)


@pytest.mark.parametrize("attributor_id", ["../x", "a/b", "", "a" * 10_000, "a\x00", "ä", "A#x"])
def test_an_id_that_is_none_names_no_session(world: World, attributor_id: str) -> None:
    with pytest.raises(NotFoundError):
        describe_session(world.service, EVERYTHING, attributor_id)
    with pytest.raises(NotFoundError):
        delete_session(world.service, EVERYTHING, attributor_id)


def test_sessions_are_listed_oldest_first_page_by_page(world: World) -> None:
    for number in range(5):
        world.open(f"s{number}", cluster="beta" if number % 2 else "alpha")
        world.now += 10
    found: list[tuple[str, int]] = []
    cursor = None
    for _ in range(4):
        page = list_sessions(world.service, EVERYTHING, SessionQuery(cursor=cursor, limit=2))
        found += [(view.attributor_id, view.age_seconds) for view in page.sessions]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [("s0", 50), ("s2", 30), ("s4", 10), ("s1", 40), ("s3", 20)]


@pytest.mark.parametrize("limit", [0, 501])
def test_a_page_limit_out_of_bounds_is_refused(world: World, limit: int) -> None:
    with pytest.raises(InvalidRequestError, match="page limit"):
        list_sessions(world.service, EVERYTHING, SessionQuery(limit=limit))


def test_a_page_limit_at_its_bounds_is_taken(world: World) -> None:
    for limit in (1, 500):
        assert list_sessions(world.service, EVERYTHING, SessionQuery(limit=limit)).sessions == []


def test_a_cursor_of_another_listing_is_refused(world: World) -> None:
    for number in range(3):
        world.open(f"s{number}", cluster="alpha")
    cursor = list_sessions(world.service, EVERYTHING, SessionQuery(cluster="alpha", limit=1)).cursor
    with pytest.raises(InvalidRequestError, match="cursor"):
        list_sessions(world.service, EVERYTHING, SessionQuery(cluster="beta", cursor=cursor))


def test_facts_that_arrive_late_are_taken(world: World) -> None:
    world.open()
    update_job(world.service, EVERYTHING, "s", {"end": "2026-05-28T20:00:00Z", "exit_code": "1:0"})
    view = update_job(world.service, EVERYTHING, "s", {"state": "CANCELLED", "user": None})
    assert view.job == {
        "job_id": "4711",
        "nodes": ["n1", "n2"],
        "state": "CANCELLED",
        "end": "2026-05-28T20:00:00Z",
        "exit_code": "1:0",
    }
    assert describe_session(world.service, EVERYTHING, "s") == view


def test_a_job_that_says_nothing_new_makes_no_version(world: World) -> None:
    world.open()
    update_job(world.service, EVERYTHING, "s", {"state": "FAILED"})
    assert [key.rpartition("/")[2] for key in world.listed()] == ["0.json"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"job_id": "4712"}, "job.job_id"),
        ({"attempt": 1}, "job.attempt"),
        ({"cluster": "beta"}, "job.cluster"),
        ({"nodes": ["n1"]}, "job.nodes"),
        ({"timezone": "Europe/Berlin"}, "job.timezone"),
        ({"ranks": [{"rank": 0, "node": "n2"}]}, "job.ranks"),
        ({"scheduler": "kueue"}, "job.scheduler"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_given_of_the_identity_cannot_change(world: World, change: dict[str, Any], field: str) -> None:
    world.open(timezone="UTC", ranks=[{"rank": 0, "node": "n1"}], scheduler="slurm")
    with pytest.raises(InvalidRequestError) as caught:
        update_job(world.service, EVERYTHING, "s", change)
    assert [fault["field"] for fault in caught.value.extras["faults"]] == [field]


def test_nodes_in_another_spelling_are_the_same_nodes(world: World) -> None:
    world.open()
    assert update_job(world.service, EVERYTHING, "s", {"nodes": "n[1-2]"}).job["nodes"] == "n[1-2]"  # type: ignore[index]  # a view with a job


def test_what_was_absent_may_be_added(world: World) -> None:
    world.open(nodes=None)
    view = update_job(world.service, EVERYTHING, "s", {"nodes": ["n1"], "timezone": "Europe/Berlin"})
    assert view.job is not None
    assert view.job["nodes"] == ["n1"]
    with pytest.raises(InvalidRequestError):
        update_job(world.service, EVERYTHING, "s", {"nodes": ["n2"]})


def test_a_version_that_a_crash_left_behind_is_skipped(world: World) -> None:
    world.open()
    folder = world.listed()[0].rpartition("/")[0]
    world.service.store.objects.put(f"{folder}/1.json", b'{"job_id":"4711","reason":"never acknowledged"}')
    view = update_job(world.service, EVERYTHING, "s", {"reason": "oom"})
    assert view.job is not None
    assert view.job["reason"] == "oom"
    assert describe_session(world.service, EVERYTHING, "s").job == view.job


def test_delete_removes_every_object(world: World) -> None:
    world.with_settings(keep_raw=True)
    world.open()
    world.send("PART BROKE")
    world.verdict()
    assert len(world.listed("attributors/s/")) == 5
    delete_session(world.service, EVERYTHING, "s")
    assert world.listed() == []
    with pytest.raises(NotFoundError):
        delete_session(world.service, EVERYTHING, "s")


def test_only_its_opener_may_clean_up_with_a_name(world: World) -> None:
    opened(world, opened_by="run-1")
    with pytest.raises(NotFoundError):
        delete_session(world.service, EVERYTHING, "default:4711:0", opened_by="run-2")
    delete_session(world.service, EVERYTHING, "default:4711:0", opened_by="run-1")


def test_a_reopened_id_shares_nothing_with_the_earlier_session(world: World) -> None:
    world.open(name="first")
    world.send("PART BROKE")
    first = world.verdict()
    delete_session(world.service, EVERYTHING, "s")
    world.open(name="second")
    second = world.verdict()
    assert (first["based_on"]["batches"], second["based_on"]["batches"]) == (1, 0)
    assert second["job"]["name"] == "second"
    assert world.send("PART BROKE").events == 1


def test_a_caller_opens_in_its_own_clusters_only(world: World) -> None:
    assert opened(world, caller=OURS, job={"cluster": "alpha"})
    with pytest.raises(ForbiddenError):
        opened(world, caller=OURS, job={"cluster": "beta"})
    with pytest.raises(ForbiddenError):
        list_sessions(world.service, OURS, SessionQuery(cluster="beta"))


def test_another_clusters_session_does_not_exist_for_a_caller(world: World) -> None:
    world.open("s", cluster="beta")
    world.open("t", cluster="alpha")
    for action in (describe_session, delete_session):
        with pytest.raises(NotFoundError):
            action(world.service, OURS, "s")
    with pytest.raises(NotFoundError):
        update_job(world.service, OURS, "s", {"state": "FAILED"})
    assert [view.attributor_id for view in list_sessions(world.service, OURS, SessionQuery()).sessions] == ["t"]


class Stuck:
    """The objects of a store that removes none."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def delete_all(self, keys: list[str]) -> int:
        msg = f"delete {len(keys)} objects: input/output error"
        raise StoreError(msg)


def test_a_deleted_session_is_gone_though_its_objects_could_not_be_removed_yet(world: World) -> None:
    """Otherwise the client hears of a failure, and finds nothing when it tries again."""
    world.open()
    world.send("PART BROKE")
    broken = replace(world.service, store=replace(world.service.store, objects=Stuck(world.service.store.objects)))
    delete_session(broken, EVERYTHING, "s")
    with pytest.raises(NotFoundError):
        delete_session(world.service, EVERYTHING, "s")
    world.now += 8 * 86_400
    sweep(world.service)
    assert world.listed("attributors/s/") == []


def test_open_sessions_are_found_by_the_id_of_their_job(world: World) -> None:
    opened(world, job={"cluster": "alpha"})
    opened(world, job={"cluster": "beta"}, attributor_id="mine")
    opened(world, job={"cluster": "alpha", "job_id": "5"})
    assert sorted(open_sessions_of(world.service, EVERYTHING, "4711")) == ["alpha:4711:0", "mine"]
    assert open_sessions_of(world.service, OURS, "4711") == ["alpha:4711:0"]
