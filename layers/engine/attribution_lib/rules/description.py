"""Everything about one rule or symptom, as titled lists of facts for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.model import AccumulatorRule, FilterRule, MetricRule, RefinerRule, TextRule
from attribution_lib.rules.reference import kind_of, symptoms_of

if TYPE_CHECKING:
    from attribution_lib.rules.engine import AnyRule, RuleEngine
    from attribution_lib.rules.model import SymptomDef

__all__ = ["Section", "describe"]

Facts = list[tuple[str, str]]
Section = tuple[str, Facts]
"""A title and its (key, value) pairs."""


def describe(name: str, engine: RuleEngine) -> list[Section]:
    """The rules of this name (all members, for a family), then the symptom of this name; empty when there is none."""
    rules = [rule for rule in engine.rules() if name in (rule.provenance.name, rule.provenance.definition)]
    sections = [(f"{kind_of(rule)} {rule.provenance.name}", _rule_facts(rule)) for rule in rules]
    if name in engine.registry:
        symptom = engine.registry.get(name)
        emitters = [rule.provenance.name for rule in engine.rules() if symptom.name in symptoms_of(rule)]
        sections.append((f"symptom {symptom.name}", _symptom_facts(symptom, emitters)))
    return sections


def _rule_facts(rule: AnyRule) -> Facts:
    at = rule.provenance
    facts: Facts = [
        ("location", str(at.location)),
        ("author", at.author),
        ("status", f"{at.status}, version {at.version}"),
    ]
    match rule:
        case TextRule():
            facts += [("sources", ", ".join(rule.sources)), ("pattern", rule.match_re), ("emits", rule.emit.type)]
        case MetricRule():
            window = f" over {rule.window_seconds} s" if rule.window_seconds is not None else ""
            facts += [("predicate", f"{rule.reduce}({rule.metric}){window} {rule.op} {rule.value:g}")]
            facts += [(f"label {name}", " or ".join(patterns)) for name, patterns in rule.labels]
        case AccumulatorRule():
            facts += [("sources", ", ".join(rule.sources)), ("trigger", rule.trigger_re)]
        case FilterRule() | RefinerRule():
            facts += [("priority", str(rule.priority))]
        case _:
            pass
    if isinstance(rule, RefinerRule) and rule.relation is not None:
        relation = rule.relation
        facts += [
            ("causes", "; ".join(map(str, relation.causes))),
            ("explain", "; ".join(map(str, relation.consequences))),
            ("scope", f"{relation.scope}, {relation.order}"),
        ]
    facts += [("symptom", name) for name in symptoms_of(rule)]
    docs = getattr(rule, "docs", "")
    return facts + ([("docs", docs)] if docs else [])


def _symptom_facts(symptom: SymptomDef, emitters: list[str]) -> Facts:
    facts = [
        ("location", str(symptom.location)),
        ("outcome", symptom.outcome.value),
        ("rank", str(symptom.rank)),
        ("scope", symptom.scope.value),
        ("root", "yes" if symptom.root else "never: always a consequence or context"),
    ]
    if symptom.teardown:
        facts.append(("teardown", "appears in every orderly or forced ending too"))
    for key, value in (("aliases", ", ".join(symptom.aliases)), ("action", symptom.action), ("docs", symptom.docs)):
        if value:
            facts.append((key, value))
    return facts + [("rule", name) for name in emitters]
