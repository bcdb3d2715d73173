"""What one load has declared so far: the mutable state between reading files and freezing the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from attribution_lib.rules.catalogs import CatalogFile
    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.model import (
        AccumulatorRule,
        CollectorRule,
        FilterRule,
        MetricRule,
        Provenance,
        RefinerRule,
        SymptomDef,
        TextRule,
    )
    from attribution_lib.rules.needed import NeededDef
    from attribution_lib.rules.registry import SymptomMatcher
    from attribution_lib.rules.tables import TableReader

__all__ = ["Declared", "RawRule", "RuleFolder"]


@dataclass(frozen=True, slots=True)
class RuleFolder:
    """One folder of rules; ``label`` stands for it in locations (``rules`` in ``rules/xid.toml:41``)."""

    path: Path
    label: str


@dataclass(frozen=True, slots=True)
class RawRule:
    """One declaration, read but not yet checked. ``target`` is the function or class of a Python declaration."""

    reader: TableReader
    folder: RuleFolder
    target: Callable[..., object] | None = None


@dataclass(slots=True)
class Declared:
    """Everything declared by the files of one load."""

    faults: FaultLog
    symptoms: list[SymptomDef] = field(default_factory=list)
    needed: list[NeededDef] = field(default_factory=list)
    decoders: dict[str, Callable[[Mapping[str, str]], Mapping[str, str]]] = field(default_factory=dict)
    text_rules: list[TextRule] = field(default_factory=list)
    metric_rules: list[MetricRule] = field(default_factory=list)
    accumulators: list[AccumulatorRule] = field(default_factory=list)
    filters: list[FilterRule] = field(default_factory=list)
    refiners: list[RefinerRule] = field(default_factory=list)
    refiner_symptoms: dict[str, tuple[SymptomMatcher, ...]] = field(default_factory=dict)
    """What indexes each refiner, resolved to names once every symptom is known."""
    catalogs: dict[Path, CatalogFile | None] = field(default_factory=dict)
    """The CSV files read so far; None for one that cannot be used."""
    catalog_rows: dict[tuple[Path, tuple[str, ...]], Mapping[tuple[str, ...], Mapping[str, str]]] = field(
        default_factory=dict
    )
    """Their rows by key, for each set of key columns that some rule asks for."""
    collectors: list[CollectorRule] = field(default_factory=list)

    def provenances(self) -> Iterator[Provenance]:
        """Of every rule of every type, in the order of declaration within a type."""
        for rules in (
            self.text_rules,
            self.metric_rules,
            self.accumulators,
            self.filters,
            self.refiners,
            self.collectors,
        ):
            for rule in rules:
                yield rule.provenance
