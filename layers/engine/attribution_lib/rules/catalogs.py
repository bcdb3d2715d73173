"""Catalogues: CSV tables that turn the captured code of a line into a symptom.

A row's key columns are compared with the rule's captures of the same names, integers in decimal without leading zeros.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.rules.files import read_file
from attribution_lib.rules.folders import catalog_files
from attribution_lib.rules.model import EMIT_TYPES, CatalogTable, Location, Scope, SymptomDef
from attribution_lib.rules.symptoms import HIGHEST_RANK
from attribution_lib.rules.templates import compile_template, render
from attribution_lib.taxonomy import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.rules.declared import Declared, RuleFolder
    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.tables import TableReader

__all__ = ["CatalogFile", "catalog_key", "catalog_symptoms", "read_catalog", "read_catalog_file"]

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_SCOPES = {scope.value: scope for scope in Scope}
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """The rows of one CSV file, each with the line it starts on."""

    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]


def catalog_key(value: str) -> str:
    """A key as it is compared: trimmed, integers in decimal without leading zeros."""
    value = value.strip()
    return str(int(value)) if value.isascii() and value.isdigit() else value


def read_catalog_file(folder: RuleFolder, relative: str, faults: FaultLog) -> CatalogFile | None:
    """Parse one CSV file of a rules folder; None (and a fault) when it cannot be read or has no proper header."""
    label = f"{folder.label}/{relative}"
    try:
        text = read_file(folder.path / relative).decode("utf-8-sig")
    except OSError as error:
        faults.add(Location(label, 1), "", f"cannot be read: {error.strerror or error}", "a readable file")
        return None
    except UnicodeDecodeError as error:
        faults.add(Location(label, 1), "", f"is not UTF-8: {error.reason} at byte {error.start}", "UTF-8 text")
        return None
    reader = csv.reader(io.StringIO(text, newline=""))
    columns = tuple(name.strip() for name in next(reader, []))
    if len(set(columns)) != len(columns) or not all(columns):
        faults.add(Location(label, 1), "header", "has an empty or repeated column name", "distinct names")
        return None
    rows = []
    line = reader.line_num + 1
    for cells in reader:
        if cells:
            if len(cells) != len(columns):
                faults.add(Location(label, line), "row", f"has {len(cells)} cells", f"{len(columns)} cells")
            rows.append((line, dict(zip(columns, (cell.strip() for cell in cells), strict=False))))
        line = reader.line_num + 1
    return CatalogFile(label, columns, tuple(rows))


def read_catalog(
    reader: TableReader, folder: RuleFolder, declared: Declared
) -> tuple[CatalogFile, CatalogTable] | None:
    """The catalogue that a rule names, keyed by its ``keys``; None (and a fault) when it cannot be used."""
    relative = reader.text("catalog")
    keys = reader.texts("keys", default=None)
    default = {str(k): str(v) for k, v in reader.table("default").items()}
    if not relative:
        return None
    path = folder.path / relative
    if path not in catalog_files(folder) or not path.is_file():
        expected = "a CSV file below the rules folder's catalogs, like catalogs/xid.csv"
        reader.fault("catalog", f"unknown catalog {relative!r}", expected)
        return None
    if path not in declared.catalogs:
        declared.catalogs[path] = read_catalog_file(folder, relative, declared.faults)
    file = declared.catalogs[path]
    if file is None:
        return None
    for key in keys:
        if key not in file.columns:
            reader.fault("keys", f"unknown column {key!r} of {relative}", f"one of {', '.join(file.columns)}")
            return None
    _check_default(reader, default)
    if (path, keys) not in declared.catalog_rows:
        declared.catalog_rows[path, keys] = _rows_by_key(file, keys, declared.faults)
    return file, CatalogTable(keys, declared.catalog_rows[path, keys], default)


def _check_default(reader: TableReader, default: Mapping[str, str]) -> None:
    event = default.get("event")
    if default and event not in EMIT_TYPES:
        reader.fault("default", f"event is {event!r}", f"one of {', '.join(EMIT_TYPES)}")


def _rows_by_key(
    file: CatalogFile, keys: tuple[str, ...], faults: FaultLog
) -> dict[tuple[str, ...], Mapping[str, str]]:
    rows: dict[tuple[str, ...], Mapping[str, str]] = {}
    for line, row in file.rows:
        key = tuple(catalog_key(row.get(name, "")) for name in keys)
        if key in rows:
            faults.add(Location(file.label, line), "row", f"repeats key {'/'.join(key)}", "one row a key")
        rows[key] = row
    return rows


def catalog_symptoms(file: CatalogFile, template: str, family: str, faults: FaultLog) -> list[SymptomDef]:
    """One symptom a row, named by ``template``. Rows of one name must agree on everything but their docs."""
    found: dict[str, SymptomDef] = {}
    name = compile_template(template)
    for line, row in file.rows:
        symptom = _row_symptom(Location(file.label, line), row, render(name, row), family, faults)
        first = found.setdefault(symptom.name, symptom)
        if _decides(first) != _decides(symptom):
            faults.add(
                symptom.location,
                symptom.name,
                f"differs from the row at {first.location} of the same symptom",
                "the same outcome, rank, scope, root and teardown",
            )
    return list(found.values())


def _decides(symptom: SymptomDef) -> tuple[object, ...]:
    return (symptom.outcome, symptom.rank, symptom.scope, symptom.root, symptom.teardown)


def _row_symptom(location: Location, row: Mapping[str, str], name: str, family: str, faults: FaultLog) -> SymptomDef:
    outcome, scope, rank = row.get("outcome", ""), row.get("scope", ""), row.get("rank", "")
    if outcome not in _OUTCOMES:
        faults.add(location, f"{name} outcome", f"is {outcome!r}", f"one of {', '.join(_OUTCOMES)}")
        outcome = Outcome.UNKNOWN
    if not rank.isdigit() or int(rank) > HIGHEST_RANK:
        faults.add(location, f"{name} rank", f"is {rank!r}", f"0 to {HIGHEST_RANK}")
        rank = "0"
    if scope not in _SCOPES:
        faults.add(location, f"{name} scope", f"is {scope!r}", f"one of {', '.join(_SCOPES)}")
        scope = Scope.NODE
    return SymptomDef(
        name=name,
        outcome=Outcome(outcome),
        rank=int(rank),
        scope=Scope(scope),
        location=location,
        root=_flag(row, "root", location, name, faults, default=True),
        teardown=_flag(row, "teardown", location, name, faults, default=False),
        docs=row.get("docs", ""),
        aliases=tuple(alias.strip() for alias in row.get("aliases", "").split(";") if alias.strip()),
        code=_code(row, location, name, faults) if family else None,
        family=family,
        action=row.get("action", ""),
    )


def _code(row: Mapping[str, str], location: Location, name: str, faults: FaultLog) -> int | None:
    code = row.get("code", "")
    if code.isascii() and code.isdigit():
        return int(code)
    faults.add(location, f"{name} code", f"is {code!r}", "an integer, because the catalogue has a family")
    return None


def _flag(  # noqa: PLR0913 -- one cell and all that its fault must say
    row: Mapping[str, str], column: str, location: Location, name: str, faults: FaultLog, *, default: bool
) -> bool:
    cell = row.get(column, "").lower()
    if cell and cell not in _FLAGS:
        faults.add(location, f"{name} {column}", f"is {cell!r}", "true or false")
    return _FLAGS.get(cell, default)
