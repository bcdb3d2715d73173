"""The local store's items as plain tables, one column an attribute, for people and their SQL tools.

Not on any request's path: reads go through the store's own file, the copy is made with sqlite-utils.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlite_utils

from attribution_service.records import CLUSTERS_PK, SESSION_SK
from attribution_service.stores.local import DATABASE
from attribution_service.stores.local_writer import LocalDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["export_tables"]

_BLOCK = 1_000


def export_tables(folder: Path, target: Path) -> dict[str, int]:
    """Copy all of a store: sessions, batches, uploads, verdicts, nodes, counters, judgements and records of runs.

    ``target`` is a SQLite file; tables that are there are replaced. Returns {table: rows}.
    """
    source = LocalDatabase(folder / DATABASE, [])
    copy = sqlite_utils.Database(target)
    counts: dict[str, int] = {}
    try:
        for name in _TABLES:
            copy[name].drop(ignore=True)
            rows = (row for kind, row in _rows(source) if kind == name)
            copy[name].insert_all(rows, pk=("pk", "sk"), alter=True, batch_size=_BLOCK)  # type: ignore[union-attr]  # a table, not a view
            counts[name] = copy[name].count if copy[name].exists() else 0
    finally:
        source.close()
        copy.close()
    return counts


_TABLES = ("sessions", "batches", "uploads", "verdicts", "nodes", "counters", "judgements", "runs")


def _rows(source: LocalDatabase) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table of the copy, row) of every item, in blocks."""
    for table in ("sessions", "verdicts"):
        last = ("", "")
        while True:
            query = f"SELECT pk, sk, doc FROM {table} WHERE (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?"  # noqa: S608 -- our tables
            block = source.rows(query, (*last, _BLOCK))
            for pk, sk, document in block:
                kind = _kind(table, pk, sk)
                if kind:
                    yield kind, {"pk": pk, "sk": sk, **json.loads(document)}
            if len(block) < _BLOCK:
                break
            last = (block[-1][0], block[-1][1])


def _kind(table: str, pk: str, sk: str) -> str:
    """Which table of the copy an item belongs to; empty for what only the store needs."""
    if pk == CLUSTERS_PK or pk.startswith("FAILURE#"):
        return ""
    if table == "sessions":
        return "sessions" if sk == SESSION_SK else {"BATCH": "batches", "UPLOAD": "uploads"}[sk.partition("#")[0]]
    if pk.startswith("NODE#"):
        return "counters" if sk.startswith("MONTH#") else "nodes"
    if pk.startswith("runs/"):
        return "runs"
    return "judgements" if pk.startswith("FEEDBACK#") else "verdicts"
