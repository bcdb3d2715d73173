"""The frozen result of a load: what the phases execute. Nothing here can change once built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_lib.rules.model import RuleStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rules.model import (
        AccumulatorRule,
        CollectorRule,
        FilterRule,
        Location,
        MetricRule,
        Provenance,
        RefinerRule,
        TextRule,
    )
    from attribution_lib.rules.needed import NeededDef
    from attribution_lib.rules.plan import SourcePlans
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

    AnyRule = TextRule | MetricRule | AccumulatorRule | FilterRule | RefinerRule | CollectorRule

__all__ = ["RuleEngine"]


@dataclass(frozen=True, slots=True, eq=False)
class RuleEngine:
    """Every rule that runs, sorted by (priority, name) within its type; staged rules are in, deprecated ones are not.

    ``digest`` is the SHA-256 (hex) of the rule files: two engines of the same digest attribute alike.
    """

    text_rules: tuple[TextRule, ...]
    metric_rules: tuple[MetricRule, ...]
    accumulators: tuple[AccumulatorRule, ...]
    filters: tuple[FilterRule, ...]
    refiners: tuple[RefinerRule, ...]
    collectors: tuple[CollectorRule, ...]
    registry: GeneratedSymptomRegistry
    digest: str
    plans: SourcePlans
    """What each text source is scanned for, compiled when first needed."""
    needed: tuple[NeededDef, ...] = ()
    """Which evidence a verdict that is not sure asks for."""
    deprecated: tuple[Provenance, ...] = ()
    """Rules that are kept for their names and do not run."""
    _by_name: dict[str, AnyRule] = field(default_factory=dict, repr=False)
    _staged: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self._by_name.update((rule.provenance.name, rule) for rule in self.rules())
        self._staged.update(name for name, rule in self._by_name.items() if rule.provenance.status is RuleStatus.STAGED)

    def rules(self) -> Iterator[AnyRule]:
        """Every rule that runs, phase by phase."""
        yield from self.text_rules
        yield from self.metric_rules
        yield from self.accumulators
        yield from self.filters
        yield from self.refiners
        yield from self.collectors

    def rule(self, name: str) -> AnyRule:
        """The running rule of this name; ``KeyError`` when there is none."""
        return self._by_name[name]

    def location(self, name: str) -> str:
        """Where a rule stands, like ``rules/xid.toml:41``; empty for what is no rule (scheduler facts)."""
        rule = self._by_name.get(name)
        return "" if rule is None else str(rule.provenance.location)

    @property
    def locations(self) -> Mapping[str, Location]:
        """Where each running rule stands, by name."""
        return {name: rule.provenance.location for name, rule in self._by_name.items()}

    @property
    def rule_count(self) -> int:
        """How many rules run, staged ones included."""
        return len(self._by_name)

    @property
    def staged_names(self) -> frozenset[str]:
        """The rules that run and are counted but decide nothing."""
        return frozenset(self._staged)
