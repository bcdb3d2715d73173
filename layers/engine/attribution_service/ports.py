"""What the service needs of a back end: objects and items; ``stores.aws`` and ``stores.local`` implement both.

The service owns the workflow; an adapter owns nothing but the calls. Only single conditional writes are asked for: no
transactions, no locks, no sequence numbers. (``Store.put_batch`` is two of them, which a back end may do as one.)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Item",
    "ItemChangedError",
    "ItemExistsError",
    "ItemTable",
    "ObjectExistsError",
    "ObjectInfo",
    "ObjectMissingError",
    "ObjectStore",
    "Page",
    "PresignedPut",
    "Store",
]

Item = dict[str, Any]
"""One row: ``pk``, ``sk`` and values that are str, int, bool, list of str, or None (which is the same as absent)."""


class ObjectExistsError(Exception):
    """A put-if-absent met an object of that key."""


class ObjectMissingError(Exception):
    """There is no object of that key."""


class ItemExistsError(Exception):
    """A put-if-absent met an item of that key."""


class ItemChangedError(Exception):
    """A conditional write met other values than it expected (or no item)."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What is known of an object without reading it."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class PresignedPut:
    """A one-time URL that takes exactly one body of the announced size and SHA-256."""

    url: str
    headers: Mapping[str, str]
    """Headers that the client must send as they are."""
    expires_at: int
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some items of an index and where to go on; ``cursor`` is None on the last page."""

    items: Sequence[Item]
    cursor: str | None


class ObjectStore(Protocol):
    """Immutable blobs by key."""

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:
        """Store a body (or the rest of a seekable file) durably; ``ObjectExistsError`` when ``if_absent`` and taken."""
        ...

    def get(self, key: str) -> bytes:
        """The whole body; ``ObjectMissingError``."""
        ...

    def open(self, key: str) -> BinaryIO:
        """The body as a stream, for what does not fit in memory; ``ObjectMissingError``."""
        ...

    def head(self, key: str) -> ObjectInfo:
        """Size without reading; ``ObjectMissingError``."""
        ...

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object whose key starts with ``prefix``, in no order to rely on: servers that speak S3 differ in it."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object; a missing one is fine."""
        ...

    def delete_all(self, keys: Iterable[str]) -> int:
        """Remove many objects, in as few calls as the back end allows; how many were named."""
        ...

    def presign_put(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        """A URL for a client to put this object, once (if absent), with exactly this size and content (hex SHA-256)."""
        ...


class ItemTable(Protocol):
    """Small items under (pk, sk); every read here is consistent unless it goes through an index."""

    def get(self, pk: str, sk: str) -> Item | None:
        """One item, or None."""
        ...

    def put(self, item: Item, *, if_absent: bool = False, or_before: tuple[str, int] | None = None) -> None:
        """Store an item; ``ItemExistsError`` when ``if_absent`` and the key is taken.

        ``or_before`` = (attribute, value): a present item whose attribute is smaller than the value is replaced.
        """
        ...

    def update(self, pk: str, sk: str, changes: Mapping[str, Any], *, expect: Mapping[str, Any]) -> None:
        """Set attributes if the item exists and holds the expected values; else ``ItemChangedError``. None removes."""
        ...

    def delete(self, pk: str, sk: str, *, expect: Mapping[str, Any] | None = None) -> bool:
        """Remove an item if it holds the expected values; whether it was removed."""
        ...

    def query(self, pk: str, prefix: str = "") -> Iterator[Item]:
        """Every item of a partition whose sk starts with ``prefix``, by sk; all pages."""
        ...

    def count(self, pk: str, prefix: str = "") -> int:
        """How many items ``query`` would give."""
        ...

    def query_page(
        self, pk: str, prefix: str = "", *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of a partition."""
        ...

    def query_index(
        self, index: str, key: str, *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of an index partition, by the index's sort key; may lag behind. Indexes: see ``records.INDEXES``."""
        ...

    def count_once(self, pk: str, sk: str, token: str, *, ttl: int) -> bool:
        """Add one to ``n`` and remember ``token`` in ``seen``, unless it is there already; whether it counted.

        ``ttl`` (seconds since the epoch) is when the table may drop the item.
        """
        ...

    def uncount(self, pk: str, sk: str, token: str) -> bool:
        """Take one from ``n`` and forget ``token``, if it was counted; whether it was."""
        ...


@dataclass(frozen=True, slots=True)
class Store:
    """One back end."""

    objects: ObjectStore
    sessions: ItemTable
    verdicts: ItemTable

    def require_writable(self) -> None:
        """``StoreError`` where it is known that nothing can be written; a back end that cannot tell says nothing."""

    def put_batch(self, spill: str, body: bytes, item: Item) -> None:
        """Store the object if absent (what is there is the same), then the item of ``sessions``; ``ItemExistsError``.

        A back end may do both at once; the item is never there without the object.
        """
        with suppress(ObjectExistsError):
            self.objects.put(spill, body, if_absent=True)
        self.sessions.put(item, if_absent=True)
