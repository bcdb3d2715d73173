"""Verdicts that many ask for at once, and those that take long: put off, waited for, taken over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from attribution_service.attribute import attribute, attribute_later
from attribution_service.errors import NotFoundError
from attribution_service.live import stored_session
from attribution_service.model import AttributionStatus
from attribution_service.service import EVERYTHING
from attribution_service.sessions import delete_session

if TYPE_CHECKING:
    from service_kit import World


def test_many_at_once_come_to_the_same_bytes(world: World) -> None:
    world.open()
    for number in range(20):
        world.send(f"CODE RAISED {number}", stream=f"{number}.log")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: attribute(world.service, EVERYTHING, "s").verdict, range(16)))
    assert len(set(found)) == 1
    snapshots = [key for key in world.listed("attributors/s/") if "/snapshot/" in key]
    session = stored_session(world.service, "s")
    assert session is not None
    assert snapshots == [session.snapshot]


def many(world: World, count: int) -> None:
    world.with_settings(inline_spills=3, attribute_seconds=100)
    world.asynchronous()
    world.open()
    for number in range(count):
        world.send(f"CODE RAISED {number}", stream=f"{number}.log")


def test_as_many_spills_as_may_be_are_read_in_line(world: World) -> None:
    many(world, 3)
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.READY
    assert world.later == []


def test_more_are_put_off_and_others_wait_for_them(world: World) -> None:
    many(world, 4)
    for _ in range(3):
        found = attribute(world.service, EVERYTHING, "s")
        assert found.status is AttributionStatus.PENDING
        assert found.retry_after > 0
    assert world.later == ["s"]
    attribute_later(world.service, "s")
    found = attribute(world.service, EVERYTHING, "s")
    assert (found.status, found.cached) == (AttributionStatus.READY, True)
    session = stored_session(world.service, "s")
    assert session is not None
    assert session.attributing_until == 0


def test_an_attribution_that_died_is_taken_over_after_its_lease(world: World) -> None:
    many(world, 4)
    attribute(world.service, EVERYTHING, "s")
    world.now += 99
    attribute(world.service, EVERYTHING, "s")
    assert world.later == ["s"]
    world.now += 1
    assert attribute(world.service, EVERYTHING, "s").status is AttributionStatus.PENDING
    assert world.later == ["s", "s"]


def test_one_of_many_takes_the_lease(world: World) -> None:
    many(world, 4)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: attribute(world.service, EVERYTHING, "s"), range(16)))
    assert world.later == ["s"]


def test_a_new_batch_after_a_long_attribution_is_read_in_line(world: World) -> None:
    many(world, 10)
    attribute(world.service, EVERYTHING, "s")
    attribute_later(world.service, "s")
    world.send("PART BROKE")
    found = attribute(world.service, EVERYTHING, "s")
    assert (found.status, found.spills_read) == (AttributionStatus.READY, 1)


def test_the_work_put_off_for_a_session_that_is_gone_ends_quietly(world: World) -> None:
    many(world, 4)
    attribute(world.service, EVERYTHING, "s")
    delete_session(world.service, EVERYTHING, "s")
    with pytest.raises(NotFoundError):
        attribute_later(world.service, "s")
