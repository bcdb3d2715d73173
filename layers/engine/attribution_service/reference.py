"""What the service says of itself: rules, symptoms, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.events.schema import SCHEMA_VERSION as SPILL_SCHEMA
from attribution_lib.rules.model import MetricRule
from attribution_lib.rules.reference import kind_of, symptoms_of
from attribution_lib.taxonomy import sub_domain_of
from attribution_lib.verdict import SCHEMA_VERSION
from attribution_lib.version import __version__
from attribution_service.model import Health

if TYPE_CHECKING:
    from attribution_lib.rules.engine import AnyRule
    from attribution_lib.rules.model import SymptomDef
    from attribution_service.service import Service

__all__ = ["health", "rules_reference"]


def rules_reference(service: Service) -> dict[str, Any]:
    """``GET /v2/rules``: the running rules, the symptoms and the metrics that metric rules need."""
    engine = service.engine()
    return {
        "rules_digest": engine.digest,
        "rules": [_rule(rule) for rule in sorted(engine.rules(), key=lambda rule: rule.provenance.name)],
        "symptoms": [_symptom(symptom) for symptom in sorted(engine.registry, key=lambda symptom: symptom.name)],
        "metrics": sorted({rule.metric for rule in engine.metric_rules}),
    }


def health(service: Service) -> Health:
    """``GET /v2/health``: versions and accepted schema versions; ``StoreError`` when nothing can be written."""
    service.store.require_writable()
    engine = service.engine()
    return Health(
        status="ok",
        version=__version__,
        verdict_schema=SCHEMA_VERSION,
        accepted_observation_schemas=["2"],
        spill_schema=SPILL_SCHEMA,
        rules_digest=engine.digest,
        rules=engine.rule_count,
    )


def _rule(rule: AnyRule) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": rule.provenance.name,
        "kind": kind_of(rule),
        "status": rule.provenance.status.value,
        "location": str(rule.provenance.location),
        "sources": [str(source) for source in getattr(rule, "sources", ())],
        "symptoms": list(symptoms_of(rule)),
    }
    if isinstance(rule, MetricRule):
        found["metric"] = rule.metric
    return found


def _symptom(symptom: SymptomDef) -> dict[str, Any]:
    return {
        "name": symptom.name,
        "outcome": symptom.outcome.value,
        "sub_domain": sub_domain_of(symptom.outcome).value,
        "rank": symptom.rank,
        "scope": str(symptom.scope),
        "root": symptom.root,
        "teardown": symptom.teardown,
        "docs": symptom.docs,
        "action": symptom.action,
        "aliases": list(symptom.aliases),
    }
