"""What explains a rule's symptoms, and what they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.model import RefinerRule
from attribution_lib.rules.reference import symptoms_of
from dashboard.building.words import listed, symptom_words
from dashboard.contexts.rules import CascadeLink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rules.cascade import Cascade
    from attribution_lib.rules.engine import AnyRule, RuleEngine

__all__ = ["cascades_of"]

_SHOWN = 100

Links = tuple[CascadeLink, ...]


def cascades_of(rule: AnyRule, engine: RuleEngine) -> tuple[Links, Links, int]:
    """Cascades into the rule's symptoms, out of them, and how many there are; of a cascade its own."""
    if isinstance(rule, RefinerRule):
        own = () if rule.relation is None else (_link(rule, rule.relation, *_ends(rule.relation, engine)),)
        return own, own, len(own)
    symptoms = frozenset(symptoms_of(rule))
    into, out = [], []
    for refiner in engine.refiners:
        relation = refiner.relation
        if relation is None:
            continue
        causes, consequences = _ends(relation, engine)
        # On the rule's own side only its symptoms are named: a cascade may have hundreds.
        if symptoms & consequences:
            into.append(_link(refiner, relation, causes, symptoms & consequences))
        if symptoms & causes:
            out.append(_link(refiner, relation, symptoms & causes, consequences))
    return tuple(into[:_SHOWN]), tuple(out[:_SHOWN]), len(into) + len(out)


def _ends(relation: Cascade, engine: RuleEngine) -> tuple[frozenset[str], frozenset[str]]:
    return engine.registry.resolve(relation.causes), engine.registry.resolve(relation.consequences)


def _link(refiner: RefinerRule, relation: Cascade, causes: Iterable[str], consequences: Iterable[str]) -> CascadeLink:
    return CascadeLink(
        rule=refiner.provenance.name,
        cause=_names(causes),
        consequence=_names(consequences),
        scope=str(relation.scope),
        docs=" ".join(refiner.docs.split()),
    )


def _names(symptoms: Iterable[str]) -> str:
    return listed([symptom_words(name) for name in sorted(symptoms)])
