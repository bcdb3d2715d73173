"""Items as JSON documents of a SQLite table; the indexes are expression indexes over the documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_service.errors import StoreError
from attribution_service.ports import ItemChangedError, ItemExistsError, Page
from attribution_service.records import INDEXES
from attribution_service.stores.cursors import decode_cursor, encode_cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_service.ports import Item
    from attribution_service.stores.local_writer import LocalDatabase

__all__ = ["MAX_ITEM_BYTES", "LocalTable", "table_schema"]

MAX_ITEM_BYTES = 400_000
"""What the other back end holds, so that nothing works here and fails there."""
_COMPACT = json.JSONEncoder(separators=(",", ":"))
_BLOCK = 1_000
_LAST = "\U0010ffff"


def table_schema(table: str) -> list[str]:
    """The statements that make a table and its indexes."""
    statements = [
        f"CREATE TABLE IF NOT EXISTS {table} (pk TEXT, sk TEXT, doc TEXT NOT NULL, PRIMARY KEY (pk, sk)) WITHOUT ROWID"
    ]
    for index, (key, sort) in INDEXES.items():
        columns = f"{_attribute(key)}, {_attribute(sort)}, pk, sk"
        where = f"{_attribute(key)} IS NOT NULL"
        statements.append(f"CREATE INDEX IF NOT EXISTS {table}_{index} ON {table} ({columns}) WHERE {where}")
    return statements


class LocalTable:
    """An ``ItemTable`` in one table of a local database. Index reads do not lag."""

    def __init__(self, database: LocalDatabase, table: str) -> None:
        self._database = database
        self._table = table

    def get(self, pk: str, sk: str) -> Item | None:
        """One item, or None."""
        rows = self._database.rows(f"SELECT doc FROM {self._table} WHERE pk = ? AND sk = ?", (pk, sk))  # noqa: S608 -- our table's name
        return _item(pk, sk, rows[0][0]) if rows else None

    def put(self, item: Item, *, if_absent: bool = False, or_before: tuple[str, int] | None = None) -> None:
        """Store an item; see the port."""
        taken, more = "NOTHING" if if_absent else "UPDATE SET doc = excluded.doc", []
        if or_before is not None:
            taken = "UPDATE SET doc = excluded.doc WHERE json_extract(doc, ?) < ?"
            more = [f"$.{or_before[0]}", or_before[1]]
        statement, values = self.insertion(item, taken)
        if self._database.write(statement, [*values, *more]) == 0:
            raise ItemExistsError(item["sk"])

    def insertion(self, item: Item, taken: str = "NOTHING") -> tuple[str, list[Any]]:
        """The statement that adds an item, and its values; ``taken`` is what it does where the key is."""
        statement = f"INSERT INTO {self._table} (pk, sk, doc) VALUES (?, ?, ?) ON CONFLICT (pk, sk) DO {taken}"  # noqa: S608 -- our table's name
        return statement, [item["pk"], item["sk"], _document(item)]

    def update(self, pk: str, sk: str, changes: Mapping[str, Any], *, expect: Mapping[str, Any]) -> None:
        """Set attributes of an item that holds what is expected."""
        condition, expected = _condition(expect)
        statement = f"UPDATE {self._table} SET doc = json_patch(doc, ?) WHERE pk = ? AND sk = ?{condition}"  # noqa: S608 -- our table's name
        if self._database.write(statement, [json.dumps(dict(changes)), pk, sk, *expected]) == 0:
            raise ItemChangedError(sk)

    def delete(self, pk: str, sk: str, *, expect: Mapping[str, Any] | None = None) -> bool:
        """Remove an item that holds what is expected."""
        condition, expected = _condition(expect or {})
        statement = f"DELETE FROM {self._table} WHERE pk = ? AND sk = ?{condition}"  # noqa: S608 -- our table's name
        return self._database.write(statement, [pk, sk, *expected]) > 0

    def query(self, pk: str, prefix: str = "") -> Iterator[Item]:
        """By sk, block by block: no connection is held while the caller works."""
        after = ""
        while True:
            rows = self._database.rows(
                f"SELECT sk, doc FROM {self._table} WHERE pk = ? AND sk >= ? AND sk < ? AND sk > ? ORDER BY sk LIMIT ?",  # noqa: S608 -- our table's name
                (pk, prefix, prefix + _LAST, after, _BLOCK),
            )
            for sk, document in rows:
                yield _item(pk, sk, document)
            if len(rows) < _BLOCK:
                return
            after = rows[-1][0]

    def count(self, pk: str, prefix: str = "") -> int:
        """How many items ``query`` would give."""
        query = f"SELECT count(*) FROM {self._table} WHERE pk = ? AND sk >= ? AND sk < ?"  # noqa: S608 -- our table's name
        return int(self._database.rows(query, (pk, prefix, prefix + _LAST))[0][0])

    def query_page(
        self, pk: str, prefix: str = "", *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of a partition."""
        order, beyond = ("DESC", "<") if descending else ("ASC", ">")
        condition, values = "", [pk, prefix, prefix + _LAST]
        if cursor is not None:
            condition = f" AND sk {beyond} ?"
            values += decode_cursor(cursor, (str,))
        rows = self._database.rows(
            f"SELECT sk, doc FROM {self._table} WHERE pk = ? AND sk >= ? AND sk < ?{condition} ORDER BY sk {order} LIMIT ?",  # noqa: S608, E501 -- our table's name
            (*values, limit + 1),
        )
        items = [_item(pk, sk, document) for sk, document in rows[:limit]]
        return Page(items, encode_cursor([items[-1]["sk"]]) if len(rows) > limit else None)

    def query_index(
        self, index: str, key: str, *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of an index partition."""
        partition, sort = (_attribute(name) for name in INDEXES[index])
        order, beyond = ("DESC", "<") if descending else ("ASC", ">")
        condition, values = "", [key]
        if cursor is not None:
            condition = f" AND ({sort}, pk, sk) {beyond} (?, ?, ?)"
            values += decode_cursor(cursor, (int, str, str))
        rows = self._database.rows(
            f"SELECT pk, sk, doc FROM {self._table} WHERE {partition} = ?{condition} "  # noqa: S608 -- our table's name
            f"ORDER BY {sort} {order}, pk {order}, sk {order} LIMIT ?",
            (*values, limit + 1),
        )
        items = [_item(*row) for row in rows[:limit]]
        position = [items[-1][INDEXES[index][1]], items[-1]["pk"], items[-1]["sk"]] if len(rows) > limit else None
        return Page(items, encode_cursor(position) if position else None)

    def count_once(self, pk: str, sk: str, token: str, *, ttl: int) -> bool:
        """Add one unless the token was counted."""
        document = json.dumps({"n": 1, "seen": [token], "ttl": ttl})
        statement = (
            f"INSERT INTO {self._table} (pk, sk, doc) VALUES (?, ?, ?) ON CONFLICT (pk, sk) DO UPDATE SET "  # noqa: S608 -- our table's name
            "doc = json_set(doc, '$.n', json_extract(doc, '$.n') + 1, '$.seen[#]', ?, '$.ttl', ?) "
            "WHERE NOT EXISTS (SELECT 1 FROM json_each(doc, '$.seen') WHERE value = ?)"
        )
        return self._database.write(statement, [pk, sk, document, token, ttl, token]) > 0

    def uncount(self, pk: str, sk: str, token: str) -> bool:
        """Take one back if the token was counted."""
        statement = (
            f"UPDATE {self._table} SET doc = json_remove(json_set(doc, '$.n', json_extract(doc, '$.n') - 1), "  # noqa: S608 -- our table's name
            "(SELECT fullkey FROM json_each(doc, '$.seen') WHERE value = ?)) "
            "WHERE pk = ? AND sk = ? AND EXISTS (SELECT 1 FROM json_each(doc, '$.seen') WHERE value = ?)"
        )
        return self._database.write(statement, [token, pk, sk, token]) > 0

    def expire(self, now: int) -> int:
        """Drop items whose ``ttl`` has passed, as the other back end does by itself; how many there were."""
        return self._database.write(f"DELETE FROM {self._table} WHERE {_attribute('ttl')} < ?", [now])  # noqa: S608 -- our table's name


def _attribute(name: str) -> str:
    return f"json_extract(doc, '$.{name}')"


def _condition(expect: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Further conditions of a statement, and the values for their places. Expecting None means absent."""
    values: list[Any] = []
    for name, value in expect.items():
        values += [f"$.{name}", value]
    return " AND json_extract(doc, ?) IS ?" * len(expect), values


def _document(item: Item) -> str:
    values = {name: value for name, value in item.items() if name not in ("pk", "sk") and value is not None}
    document = _COMPACT.encode(values)
    if len(document) > MAX_ITEM_BYTES:
        raise StoreError(f"item {item['pk']} {item['sk']}: {len(document)} bytes; at most {MAX_ITEM_BYTES}")
    return document


def _item(pk: str, sk: str, document: str) -> Item:
    return {"pk": pk, "sk": sk, **json.loads(document)}
