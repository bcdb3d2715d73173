"""What happens to a batch when something happens just before, or amid, its commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from attribution_service.errors import NotFoundError, StoreError
from attribution_service.ports import Store
from attribution_service.records import batch_sk, session_pk
from attribution_service.service import EVERYTHING
from attribution_service.sessions import delete_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_service.ports import Item
    from service_kit import World


@dataclass(frozen=True, slots=True)
class Interrupted(Store):
    """A store in which something happens at the commit of a batch."""

    inner: Store
    action: Callable[[], None]
    times: int = 1

    def put_batch(self, spill: str, body: bytes, item: Item) -> None:
        self.action()
        for _ in range(self.times):
            self.inner.put_batch(spill, body, item)


@dataclass(frozen=True, slots=True)
class Parted(Interrupted):
    """A back end that commits by two writes, with room between them."""

    def put_batch(self, spill: str, body: bytes, item: Item) -> None:
        self.objects.put(spill, body, if_absent=True)
        self.action()
        for _ in range(self.times):
            self.sessions.put(item, if_absent=True)


def interrupt(world: World, kind: type[Interrupted], action: Callable[[], None], times: int = 1) -> None:
    """From now on the action happens at every commit of a batch."""
    store = world.service.store
    made = kind(store.objects, store.sessions, store.verdicts, store, action, times)
    world.service = replace(world.service, store=made)


kinds = pytest.mark.parametrize("kind", [Interrupted, Parted], ids=["before the commit", "between its two writes"])


@kinds
def test_a_session_deleted_while_a_batch_was_extracted_answers_404(world: World, kind: type[Interrupted]) -> None:
    """The look back after the commit: nobody would ever see the batch, so nobody is told that it was taken."""
    world.open()
    interrupt(world, kind, lambda: delete_session(world.service, EVERYTHING, "s"))
    with pytest.raises(NotFoundError):
        world.send("PART BROKE")
    assert world.listed() == []
    assert world.service.store.sessions.count(session_pk("s"), batch_sk("")) == 0


@kinds
def test_a_session_replaced_while_a_batch_was_extracted_does_not_get_it(world: World, kind: type[Interrupted]) -> None:
    world.open()

    def replaced() -> None:
        delete_session(world.service, EVERYTHING, "s")
        world.open()

    interrupt(world, kind, replaced)
    with pytest.raises(NotFoundError):
        world.send("PART BROKE")
    assert world.verdict()["based_on"]["batches"] == 0


@kinds
def test_a_commit_that_was_sent_twice_is_acknowledged_once(world: World, kind: type[Interrupted]) -> None:
    """As when the client library repeats a write whose answer was lost."""
    world.open()
    interrupt(world, kind, lambda: None, times=2)
    assert world.send("PART BROKE").events == 1


@kinds
def test_a_batch_whose_commit_failed_is_taken_on_the_next_try(world: World, kind: type[Interrupted]) -> None:
    world.open()
    intact, boom = world.service, StoreError("power cut")

    def crash() -> None:
        raise boom

    interrupt(world, kind, crash)
    with pytest.raises(StoreError, match="power cut"):
        world.send("PART BROKE")
    world.service = intact
    assert world.verdict()["based_on"]["batches"] == 0
    assert world.send("PART BROKE").events == 1
    assert world.verdict()["based_on"]["batches"] == 1
