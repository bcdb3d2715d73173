"""The two tables as ``create_table`` wants them: for tests and emulators; ``template.yaml`` makes the deployed ones."""

from __future__ import annotations

from typing import Any

from attribution_service.records import INDEX_ATTRIBUTES, INDEXES

__all__ = ["table_definition"]

SESSION_INDEXES = ("open_sessions",)
VERDICT_INDEXES = ("by_day", "by_node")


def table_definition(name: str, indexes: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of ``create_table`` for a table with these indexes of ``records.INDEXES``."""
    attributes = {"pk": "S", "sk": "S"}
    secondary = []
    for index in indexes:
        partition, sort = INDEXES[index]
        attributes |= {partition: "S", sort: "N"}
        secondary.append(
            {
                "IndexName": index,
                "KeySchema": [
                    {"AttributeName": partition, "KeyType": "HASH"},
                    {"AttributeName": sort, "KeyType": "RANGE"},
                ],
                "Projection": _projection(index),
            }
        )
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in attributes.items()
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": secondary,
    }


def _projection(index: str) -> dict[str, Any]:
    if index in SESSION_INDEXES:
        return {"ProjectionType": "ALL"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(INDEX_ATTRIBUTES)}
