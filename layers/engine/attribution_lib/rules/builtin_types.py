"""The four rule types there are. The list is literal: a fifth one is a change to the engine, not a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attribution_lib.rules.accumulators import read_accumulator
from attribution_lib.rules.metric_rules import read_metric_rule
from attribution_lib.rules.model import CollectorRule, FilterRule, RefinerRule
from attribution_lib.rules.provenance import read_provenance
from attribution_lib.rules.rule_types import RuleType, rule_type
from attribution_lib.rules.signatures import check_arguments
from attribution_lib.rules.text_rules import read_catalog_rule, read_extractor, read_family

if TYPE_CHECKING:
    from attribution_lib.rules.declared import Declared, RawRule

__all__ = ["builtin_rule_types"]

_HIGHEST_PRIORITY = 9999


def builtin_rule_types() -> tuple[RuleType, ...]:
    """One of each built-in rule type."""
    return cast("tuple[RuleType, ...]", (CollectorType(), ExtractorType(), FilterType(), RefinerType()))


@rule_type("extractor", "extractor", "extractor_family", "extractor_catalog", "metric_extractor", "accumulator")
class ExtractorType:
    """Phase 1: observations → events."""

    def build(self, raw: RawRule, declared: Declared) -> None:
        """Read any of the five forms of an extractor."""
        match raw.reader.kind:
            case "extractor_family":
                read_family(raw, declared)
            case "extractor_catalog":
                read_catalog_rule(raw, declared)
            case "metric_extractor":
                read_metric_rule(raw, declared)
            case "accumulator":
                read_accumulator(raw, _target(raw), declared)
            case _:
                read_extractor(raw, declared)


@rule_type("filter", "filter")
class FilterType:
    """Phase 2: events → events."""

    def build(self, raw: RawRule, declared: Declared) -> None:
        """Read a ``filter_def``."""
        target = _target(raw)
        provenance = read_provenance(raw.reader)
        priority = raw.reader.integer("priority", high=_HIGHEST_PRIORITY)
        check_arguments(raw.reader, target, "context")
        docs = raw.reader.text("docs", default=_docs(target))
        raw.reader.finish()
        declared.filters.append(FilterRule(provenance, priority, target, docs))


@rule_type("refiner", "refiner")
class RefinerType:
    """Phase 3: symptoms → fewer symptoms; cascades are refiners too."""

    def build(self, raw: RawRule, declared: Declared) -> None:
        """Read a ``refiner_def`` or a ``cascade``."""
        target = _target(raw)
        reader = raw.reader
        provenance = read_provenance(reader)
        priority = reader.integer("priority", high=_HIGHEST_PRIORITY)
        symptoms = tuple(reader.raw("symptoms") or ())
        relation = reader.raw("relation")
        check_arguments(reader, target, "context")
        docs = reader.text("docs", default=_docs(target))
        reader.finish()
        declared.refiners.append(RefinerRule(provenance, priority, target, docs=docs, relation=relation))
        declared.refiner_symptoms[provenance.name] = symptoms


@rule_type("collector", "collector")
class CollectorType:
    """Phase 4: events → a dictionary for the reader of the verdict."""

    def build(self, raw: RawRule, declared: Declared) -> None:
        """Read a ``collector_def``."""
        target = _target(raw)
        provenance = read_provenance(raw.reader)
        check_arguments(raw.reader, target, "context")
        docs = raw.reader.text("docs", default=_docs(target))
        raw.reader.finish()
        declared.collectors.append(CollectorRule(provenance, target, docs))


def _target(raw: RawRule) -> Any:
    if raw.target is None:
        raw.reader.fault(
            "", f"[[{raw.reader.kind}]] cannot be declared in TOML", f"@{raw.reader.kind}_def in a .py file"
        )
        return lambda context: None  # noqa: ARG005 -- stands in so that the other faults are found too
    return raw.target


def _docs(target: Any) -> str:
    return (getattr(target, "__doc__", None) or "").strip()
