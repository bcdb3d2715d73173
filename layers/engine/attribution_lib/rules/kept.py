"""Rules that a load has checked, kept for the next process: it decodes them instead of reading the files again.

Only what declarative files and catalogues say is kept: names, numbers and texts. Python rule files run at every start.
A kept load belongs to one content of the rule files, and of the code that reads them; for any other it is not there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import DecodeError, Struct, structs
from msgspec.msgpack import Decoder, Encoder

from attribution_lib.kept_files import KeptFiles
from attribution_lib.observation import Source
from attribution_lib.rules.model import CatalogTable, Emit, MetricRule, Provenance, Reduce, SymptomDef, TextRule
from attribution_lib.rules.needed import NeededDef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.rules.declared import Declared, RuleFolder

__all__ = ["KeptLoad", "KeptRules"]

_S = TypeVar("_S", bound=Struct)
_Rows = dict[tuple[str, ...], dict[str, str]]


class _Catalog(Struct, array_like=True, frozen=True):
    keys: tuple[str, ...]
    rows: int
    """Which of the kept rows: several rules look up the same."""
    default: dict[str, str]


class _TextRule(Struct, array_like=True, frozen=True):
    """The fields of a ``TextRule`` in order, but for its catalogue and its decoder."""

    provenance: Provenance
    match_re: str
    emit: Emit
    sources: tuple[Source, ...]
    engine: str
    engine_reason: str
    key: tuple[str, ...]
    fold: str
    demotable_by: tuple[str, ...]


class _MetricRule(Struct, array_like=True, frozen=True):
    """The fields of a ``MetricRule`` that are plain data."""

    provenance: Provenance
    metric: str
    reduce: Reduce
    op: str
    value: float
    emit: Emit
    window_seconds: int | None
    for_models: tuple[str, ...]
    labels: tuple[tuple[str, tuple[str, ...]], ...]


class KeptLoad(Struct, array_like=True, frozen=True):
    """Everything that one load has read, as far as it is data."""

    symptoms: list[SymptomDef]
    needed: list[NeededDef]
    rows: list[_Rows]
    text_rules: list[tuple[_TextRule, _Catalog | None, str]]
    """Each with the name of its decoder."""
    metric_rules: list[tuple[_MetricRule, _Catalog | None, str, tuple[str, ...]]]
    """Each with what else a ``MetricRule`` has."""
    python_rules: list[str]
    """The rules that Python files have declared, in order."""

    def add_to(self, declared: Declared) -> bool:
        """Add what was kept to the Python rules in ``declared``; False, and nothing, where it does not go with them."""
        if self.python_rules != _python_rules(declared):
            return False
        decoders = {"": None, **declared.decoders}
        try:
            text_rules = [
                TextRule(**structs.asdict(rule), catalog=self._table(catalog), decode=decoders[decoder])
                for rule, catalog, decoder in self.text_rules
            ]
        except LookupError:
            return False
        declared.text_rules[:] = text_rules
        declared.metric_rules[:] = [
            MetricRule(**structs.asdict(rule), catalog=self._table(catalog), code_label=label, demotable_by=demotable)
            for rule, catalog, label, demotable in self.metric_rules
        ]
        declared.symptoms[:] = self.symptoms
        declared.needed[:] = self.needed
        return True

    def _table(self, kept: _Catalog | None) -> CatalogTable | None:
        return None if kept is None else CatalogTable(kept.keys, self.rows[kept.rows], kept.default)


@dataclass(frozen=True, slots=True)
class KeptRules:
    """The place of one load among others in a folder."""

    files: KeptFiles
    digest: str
    """Of the rule files that the load is of."""
    key: str

    @classmethod
    def of(cls, cache_dir: Path, folders: Sequence[RuleFolder], digest: str) -> KeptRules:
        """The place of these folders' rules, whose files have this digest, as the code that stands here reads them."""
        facts = sha256(digest.encode())
        for folder in folders:
            facts.update(b"\0" + os.fsencode(folder.label))
        here = Path(__file__).parent
        for path in (*sorted(here.parent.glob("*.py")), *sorted(here.glob("*.py"))):
            facts.update(b"\0" + path.read_bytes())
        return cls(KeptFiles(cache_dir, ".rules", b"attribution rules 1", most=8), digest, facts.hexdigest()[:40])

    def read(self) -> KeptLoad | None:
        """The load that was kept here, if there is one and it is whole."""
        content = self.files.read(self.key)
        if content is None:
            return None
        try:
            return Decoder(KeptLoad).decode(content)
        except DecodeError:
            return None

    def write(self, declared: Declared) -> None:
        """Keep a load that was checked and refused nothing."""
        with suppress(UnicodeEncodeError):  # a folder whose name is no text stands in every location
            self.files.write(self.key, Encoder().encode(_load_of(declared)))


def _python_rules(declared: Declared) -> list[str]:
    found = (declared.accumulators, declared.filters, declared.refiners, declared.collectors)
    return [rule.provenance.name for rules in found for rule in rules]


def _fields(kind: type[_S], rule: object) -> _S:
    return kind(*(getattr(rule, name) for name in kind.__struct_fields__))


def _load_of(declared: Declared) -> KeptLoad:
    rows: list[Any] = []
    decoders = {id(function): name for name, function in declared.decoders.items()}

    def keep(table: CatalogTable | None) -> _Catalog | None:
        if table is None:
            return None
        number = next((number for number, known in enumerate(rows) if known is table.rows), len(rows))
        if number == len(rows):
            rows.append(table.rows)
        return _Catalog(table.keys, number, dict(table.default))

    return KeptLoad(
        declared.symptoms,
        declared.needed,
        rows,
        [
            (_fields(_TextRule, rule), keep(rule.catalog), decoders.get(id(rule.decode), ""))
            for rule in declared.text_rules
        ],
        [
            (_fields(_MetricRule, rule), keep(rule.catalog), rule.code_label, rule.demotable_by)
            for rule in declared.metric_rules
        ],
        _python_rules(declared),
    )
