"""The frozen result of a load: what the phases execute. Nothing here can change once built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

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
    deprecated: tuple[Provenance, ...] = ()
    """Rules that are kept for their names and do not run."""

    def rules(self) -> Iterator[TextRule | MetricRule | AccumulatorRule | FilterRule | RefinerRule | CollectorRule]:
        """Every rule that runs, phase by phase."""
        yield from self.text_rules
        yield from self.metric_rules
        yield from self.accumulators
        yield from self.filters
        yield from self.refiners
        yield from self.collectors

    def rule(self, name: str) -> TextRule | MetricRule | AccumulatorRule | FilterRule | RefinerRule | CollectorRule:
        """The running rule of this name; ``KeyError`` when there is none."""
        for rule in self.rules():
            if rule.provenance.name == name:
                return rule
        raise KeyError(name)

    @property
    def locations(self) -> Mapping[str, Location]:
        """Where each running rule stands, by name."""
        return {rule.provenance.name: rule.provenance.location for rule in self.rules()}
