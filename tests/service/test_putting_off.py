"""What an attribution would cost decides who does it: whoever asks, one of those, or an invocation of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.attribute import attribute, attribute_later
from attribution_service.errors import StoreError
from attribution_service.leases import release_lease, take_lease
from attribution_service.live import stored_session
from attribution_service.model import Attribution, AttributionStatus
from attribution_service.records import batch_sk, session_pk
from attribution_service.service import EVERYTHING
from engine_kit import OTHER_RULES, engine_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from attribution_service.ports import ObjectStore
    from attribution_service.records import Session
    from service_kit import World


def one_batch(world: World, **settings: Any) -> None:
    """A session with one batch, of a service that puts off what takes long."""
    world.with_settings(**settings)
    world.asynchronous()
    world.open()
    world.send("PART BROKE")


def pretend(world: World, events: int) -> None:
    """Let the receipt of the only batch count more events than a test wants to deliver."""
    session = stored_session(world.service, "s")
    assert session is not None
    pk, prefix = session_pk("s"), batch_sk(session.generation)
    (item,) = world.service.store.sessions.query(pk, prefix)
    world.service.store.sessions.update(pk, item["sk"], {"events": events}, expect={})


@pytest.mark.parametrize(("events", "later"), [(19_990, []), (19_991, ["s"])], ids=["at the limit", "one over"])
def test_one_batch_is_put_off_when_its_receipt_counts_many_events(world: World, events: int, later: list[str]) -> None:
    one_batch(world)
    pretend(world, events)
    status = attribute(world.service, EVERYTHING, "s").status
    assert (status is AttributionStatus.PENDING, world.later) == (bool(later), later)


def test_what_the_snapshot_holds_is_not_work_to_be_put_off(world: World) -> None:
    one_batch(world)
    pretend(world, 30_000)
    attribute_later(world.service, "s")
    world.send("CODE RAISED", stream="more.log")
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.READY


def test_bodies_that_other_rules_have_to_read_again_count_as_work(world: World, folder: Path) -> None:
    one_batch(world, keep_raw=True, inline_events=12)
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.READY
    world.send("x" * 20_000, stream="long.log")
    world.engine = engine_of(folder / "other", OTHER_RULES)
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.PENDING


class Interrupted:
    """The objects of a store, with something that happens while a spill is read."""

    def __init__(self, objects: ObjectStore, meanwhile: Callable[[], object]) -> None:
        self._objects = objects
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def get(self, key: str) -> bytes:
        if "/spill/" in key:
            self._meanwhile()
        return self._objects.get(key)


def test_work_in_line_is_done_by_one_and_the_others_come_back(world: World) -> None:
    """Whoever asks meanwhile is told to ask again, and then finds the verdict."""
    one_batch(world)
    pretend(world, 5_000)
    during: list[Attribution] = []
    objects = Interrupted(world.service.store.objects, lambda: during.append(attribute(world.service, EVERYTHING, "s")))
    asking = replace(world.service, store=replace(world.service.store, objects=objects))
    found = attribute(asking, EVERYTHING, "s")
    assert (found.status, found.cached) == (AttributionStatus.READY, False)
    assert [(one.status, one.retry_after > 0) for one in during] == [(AttributionStatus.PENDING, True)]
    assert attribute(world.service, EVERYTHING, "s").cached
    assert world.later == []


def test_work_in_line_that_failed_leaves_no_lease(world: World) -> None:
    one_batch(world)
    pretend(world, 5_000)
    for key in world.listed("attributors/s/"):
        if "/spill/" in key:
            world.service.store.objects.delete(key)
    with pytest.raises(StoreError, match="spill"):
        attribute(world.service, EVERYTHING, "s")
    session = stored_session(world.service, "s")
    assert session is not None
    assert session.attributing_until == 0


def test_work_in_line_that_died_is_taken_over_within_a_minute(world: World) -> None:
    one_batch(world)
    pretend(world, 5_000)
    session = stored_session(world.service, "s")
    assert session is not None
    assert take_lease(world.service, session, world.service.settings.inline_seconds)
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.PENDING
    world.now += 59
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.READY


def test_work_that_outlived_its_lease_frees_nobody_elses(world: World) -> None:
    world.open()
    mine = take_lease(world.service, the_session(world), 10)
    world.now += 20
    theirs = take_lease(world.service, the_session(world), 30)
    assert mine is not None
    assert theirs is not None
    release_lease(world.service, "s", mine)
    assert the_session(world).attributing_until == theirs
    release_lease(world.service, "s", theirs)
    assert the_session(world).attributing_until == 0


def the_session(world: World) -> Session:
    session = stored_session(world.service, "s")
    assert session is not None
    return session
