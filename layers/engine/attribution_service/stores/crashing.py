"""A store that dies now and then: just before or just after a write, as a process does. For drills and tests.

It keeps the contract of the store it wraps as long as the plan lets it live.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

from attribution_service.ports import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attribution_service.ports import Item, ItemTable, ObjectInfo, ObjectStore, Page, PresignedPut

__all__ = ["CrashPlan", "InjectedCrashError", "crashing_store"]


_EVEN = 0.5


class InjectedCrashError(Exception):
    """The process "died" here; whoever called gets no answer and the service cleans nothing up."""


@dataclass(slots=True)
class CrashPlan:
    """When to die: with this probability before each write, and again after it. The same seed asks the same dice."""

    probability: float
    seed: int = 0
    crashes: int = 0
    _random: Random = field(init=False)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 -- dice, no secrets

    def point(self, where: str) -> None:
        """Die here, or go on."""
        with self._lock:
            if self._random.random() >= self.probability:
                return
            self.crashes += 1
        raise InjectedCrashError(where)

    def toss(self) -> bool:
        """One of two ways, by the dice."""
        with self._lock:
            return self._random.random() < _EVEN


def crashing_store(store: Store, plan: CrashPlan) -> Store:
    """The store with a crash point before and after each of its writes."""
    return _CrashingStore(
        _CrashingObjects(store.objects, plan),
        _CrashingTable(store.sessions, plan),
        _CrashingTable(store.verdicts, plan),
        store,
        plan,
    )


@dataclass(frozen=True, slots=True)
class _CrashingStore(Store):
    inner: Store
    plan: CrashPlan

    def put_batch(self, spill: str, body: bytes, item: Item) -> None:
        """As the wrapped store does it, or as two writes that a crash may part."""
        if self.plan.toss():
            return Store.put_batch(self, spill, body, item)
        self.plan.point(f"before batch {item['sk']}")
        self.inner.put_batch(spill, body, item)
        return self.plan.point(f"after batch {item['sk']}")


@dataclass(frozen=True, slots=True)
class _CrashingObjects:
    inner: ObjectStore
    plan: CrashPlan

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:
        self.plan.point(f"before put {key}")
        self.inner.put(key, body, if_absent=if_absent)
        self.plan.point(f"after put {key}")

    def delete(self, key: str) -> None:
        self.plan.point(f"before delete {key}")
        self.inner.delete(key)
        self.plan.point(f"after delete {key}")

    def delete_all(self, keys: Iterable[str]) -> int:
        count = 0
        for key in keys:
            self.delete(key)
            count += 1
        return count

    def get(self, key: str) -> bytes:
        return self.inner.get(key)

    def open(self, key: str) -> BinaryIO:
        return self.inner.open(key)

    def head(self, key: str) -> ObjectInfo:
        return self.inner.head(key)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return self.inner.list(prefix)

    def presign_put(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        return self.inner.presign_put(key, size=size, sha256=sha256, content_type=content_type, expires_in=expires_in)


@dataclass(frozen=True, slots=True)
class _CrashingTable:
    inner: ItemTable
    plan: CrashPlan

    def put(self, item: Item, *, if_absent: bool = False, or_before: tuple[str, int] | None = None) -> None:
        self.plan.point(f"before put {item['sk']}")
        self.inner.put(item, if_absent=if_absent, or_before=or_before)
        self.plan.point(f"after put {item['sk']}")

    def update(self, pk: str, sk: str, changes: Mapping[str, Any], *, expect: Mapping[str, Any]) -> None:
        self.plan.point(f"before update {sk}")
        self.inner.update(pk, sk, changes, expect=expect)
        self.plan.point(f"after update {sk}")

    def delete(self, pk: str, sk: str, *, expect: Mapping[str, Any] | None = None) -> bool:
        self.plan.point(f"before delete {sk}")
        removed = self.inner.delete(pk, sk, expect=expect)
        self.plan.point(f"after delete {sk}")
        return removed

    def count_once(self, pk: str, sk: str, token: str, *, ttl: int) -> bool:
        self.plan.point(f"before count {sk}")
        counted = self.inner.count_once(pk, sk, token, ttl=ttl)
        self.plan.point(f"after count {sk}")
        return counted

    def uncount(self, pk: str, sk: str, token: str) -> bool:
        self.plan.point(f"before uncount {sk}")
        forgotten = self.inner.uncount(pk, sk, token)
        self.plan.point(f"after uncount {sk}")
        return forgotten

    def get(self, pk: str, sk: str) -> Item | None:
        return self.inner.get(pk, sk)

    def query(self, pk: str, prefix: str = "") -> Iterator[Item]:
        return self.inner.query(pk, prefix)

    def count(self, pk: str, prefix: str = "") -> int:
        return self.inner.count(pk, prefix)

    def query_page(
        self, pk: str, prefix: str = "", *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        return self.inner.query_page(pk, prefix, cursor=cursor, limit=limit, descending=descending)

    def query_index(
        self, index: str, key: str, *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        return self.inner.query_index(index, key, cursor=cursor, limit=limit, descending=descending)
