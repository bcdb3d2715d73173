"""Items in one DynamoDB table, through the low-level client: single conditional writes and consistent reads only."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

from attribution_service.ports import ItemChangedError, ItemExistsError, Page
from attribution_service.records import INDEXES
from attribution_service.stores.aws_errors import error_code, translated
from attribution_service.stores.cursors import decode_cursor, encode_cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_service.ports import Item

__all__ = ["DynamoTable"]

_CONDITION_FAILED = "ConditionalCheckFailedException"
_SERIALIZER = TypeSerializer()
_DESERIALIZER = TypeDeserializer()


class DynamoTable:
    """An ``ItemTable`` over a low-level DynamoDB client. Attribute names go through ``#`` places: many are reserved."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def get(self, pk: str, sk: str) -> Item | None:
        """One item, or None."""
        with translated("get", f"{pk} {sk}"):
            answer = self._client.get_item(TableName=self._table, Key=_key(pk, sk), ConsistentRead=True)
        return _item(answer["Item"]) if "Item" in answer else None

    def put(self, item: Item, *, if_absent: bool = False, or_before: tuple[str, int] | None = None) -> None:
        """Store an item; see the port."""
        places = _Places()
        condition = ""
        if if_absent or or_before is not None:
            condition = f"attribute_not_exists({places.name('pk')})"
        if or_before is not None:
            attribute, value = or_before
            condition += f" OR {places.name(attribute)} < {places.value(value)}"
        try:
            self._write("put_item", item["pk"], item["sk"], places, condition, Item=_wire(item))
        except ItemChangedError as error:
            raise ItemExistsError(item["sk"]) from error

    def update(self, pk: str, sk: str, changes: Mapping[str, Any], *, expect: Mapping[str, Any]) -> None:
        """Set attributes of an item that holds what is expected."""
        places = _Places()
        condition = _expected(expect, places, exists=True)
        sets = [f"{places.name(name)} = {places.value(value)}" for name, value in changes.items() if value is not None]
        removes = [places.name(name) for name, value in changes.items() if value is None]
        expression = (f"SET {', '.join(sets)} " if sets else "") + (f"REMOVE {', '.join(removes)}" if removes else "")
        self._write("update_item", pk, sk, places, condition, Key=_key(pk, sk), UpdateExpression=expression.strip())

    def delete(self, pk: str, sk: str, *, expect: Mapping[str, Any] | None = None) -> bool:
        """Remove an item that holds what is expected."""
        places = _Places()
        condition = _expected(expect or {}, places, exists=True)
        try:
            self._write("delete_item", pk, sk, places, condition, Key=_key(pk, sk))
        except ItemChangedError:
            return False
        return True

    def query(self, pk: str, prefix: str = "") -> Iterator[Item]:
        """By sk, all pages."""
        with translated("query", f"{pk} {prefix}"):
            for page in self._pages(pk, prefix):
                for item in page["Items"]:
                    yield _item(item)

    def count(self, pk: str, prefix: str = "") -> int:
        """How many items ``query`` would give; none of them is sent."""
        with translated("count", f"{pk} {prefix}"):
            return sum(int(page["Count"]) for page in self._pages(pk, prefix, Select="COUNT"))

    def query_page(
        self, pk: str, prefix: str = "", *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of a partition."""
        start = {}
        if cursor is not None:
            start["ExclusiveStartKey"] = _key(pk, decode_cursor(cursor, (str,))[0])
        with translated("query", f"{pk} {prefix}"):
            answer = self._client.query(
                **self._partition(pk, prefix), ScanIndexForward=not descending, Limit=limit, **start
            )
        last = answer.get("LastEvaluatedKey")
        items = [_item(item) for item in answer["Items"]]
        return Page(items, encode_cursor([_item(last)["sk"]]) if last else None)

    def query_index(
        self, index: str, key: str, *, cursor: str | None = None, limit: int = 50, descending: bool = False
    ) -> Page:
        """One page of an index partition; an index cannot be read consistently."""
        partition, sort = INDEXES[index]
        start = {}
        if cursor is not None:
            at, pk, sk = decode_cursor(cursor, (int, str, str))
            start["ExclusiveStartKey"] = _wire({partition: key, sort: at, "pk": pk, "sk": sk})
        places = _Places()
        with translated("query", f"{index} {key}"):
            answer = self._client.query(
                TableName=self._table,
                IndexName=index,
                KeyConditionExpression=f"{places.name(partition)} = {places.value(key)}",
                ScanIndexForward=not descending,
                Limit=limit,
                **places.arguments(),
                **start,
            )
        last = answer.get("LastEvaluatedKey")
        items = [_item(item) for item in answer["Items"]]
        if not last:
            return Page(items, None)
        position = _item(last)
        return Page(items, encode_cursor([position[sort], position["pk"], position["sk"]]))

    def count_once(self, pk: str, sk: str, token: str, *, ttl: int) -> bool:
        """Add one unless the token was counted."""
        places = _Places()
        n, seen, expiry = places.name("n"), places.name("seen"), places.name("ttl")
        expression = f"ADD {n} {places.value(1)}, {seen} {places.value({token})} SET {expiry} = {places.value(ttl)}"
        condition = f"attribute_not_exists({seen}) OR NOT contains({seen}, {places.value(token)})"
        try:
            self._write("update_item", pk, sk, places, condition, Key=_key(pk, sk), UpdateExpression=expression)
        except ItemChangedError:
            return False
        return True

    def uncount(self, pk: str, sk: str, token: str) -> bool:
        """Take one back if the token was counted; an emptied set is no attribute any more."""
        places = _Places()
        n, seen = places.name("n"), places.name("seen")
        expression = f"ADD {n} {places.value(-1)} DELETE {seen} {places.value({token})}"
        condition = f"contains({seen}, {places.value(token)})"
        try:
            self._write("update_item", pk, sk, places, condition, Key=_key(pk, sk), UpdateExpression=expression)
        except ItemChangedError:
            return False
        return True

    def _pages(self, pk: str, prefix: str, **more: Any) -> Iterator[dict[str, Any]]:
        yield from self._client.get_paginator("query").paginate(**self._partition(pk, prefix), **more)

    def _partition(self, pk: str, prefix: str) -> dict[str, Any]:
        places = _Places()
        condition = f"{places.name('pk')} = {places.value(pk)}"
        if prefix:
            condition += f" AND begins_with({places.name('sk')}, {places.value(prefix)})"
        return {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": condition,
            **places.arguments(),
        }

    def _write(self, call: str, pk: str, sk: str, places: _Places, condition: str, **arguments: Any) -> None:
        if condition:
            arguments["ConditionExpression"] = condition
        with translated(call, f"{pk} {sk}"):
            try:
                getattr(self._client, call)(TableName=self._table, **places.arguments(), **arguments)
            except ClientError as error:
                if error_code(error) == _CONDITION_FAILED:
                    raise ItemChangedError(sk) from error
                raise


class _Places:
    """Collects the names and values that an expression refers to."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        place = f"#{attribute}"
        self._names[place] = attribute
        return place

    def value(self, value: Any) -> str:
        place = f":v{len(self._values)}"
        self._values[place] = _SERIALIZER.serialize(value)
        return place

    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._names:
            found["ExpressionAttributeNames"] = self._names
        if self._values:
            found["ExpressionAttributeValues"] = self._values
        return found


def _expected(expect: Mapping[str, Any], places: _Places, *, exists: bool) -> str:
    """A condition: the item is there and holds these values; None means that the attribute is absent."""
    parts = [f"attribute_exists({places.name('pk')})"] if exists else []
    for name, value in expect.items():
        if value is None:
            parts.append(f"attribute_not_exists({places.name(name)})")
        else:
            parts.append(f"{places.name(name)} = {places.value(value)}")
    return " AND ".join(parts)


def _key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _wire(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _SERIALIZER.serialize(value) for name, value in item.items() if value is not None}


def _item(wire: Mapping[str, Any]) -> Item:
    return {name: _plain(_DESERIALIZER.deserialize(value)) for name, value in wire.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, set):
        return sorted(value)
    return value
