"""The checks that need every file: unique names, known symptoms, sound dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.rules.model import RuleStatus
from attribution_lib.rules.needed import check_needed
from attribution_lib.rules.registry import GeneratedSymptomRegistry, UnknownSymptomError
from attribution_lib.rules.templates import compile_template, placeholders, render
from attribution_lib.taxonomy import SubDomain, sub_domain_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rules.declared import Declared
    from attribution_lib.rules.model import CatalogTable, Emit, Location, Provenance

__all__ = ["validate"]

_EXTRACTION, _FILTERING, _REFINEMENT, _COLLECTIONS = 1, 2, 3, 4
_ENDINGS = "an outcome of an ending: user_cancelled, operator_cancelled, preempted, time_limit or success"


def validate(declared: Declared) -> None:
    """Note every fault between declarations."""
    _check_unique_rules(declared)
    _check_unique_symptoms(declared)
    registry = GeneratedSymptomRegistry(declared.symptoms)
    _check_emitted(declared, registry)
    _check_refiners(declared, registry)
    _check_dependencies(declared)
    check_needed(declared.needed, (symptom.name for symptom in declared.symptoms), declared.faults)


def _check_unique_rules(declared: Declared) -> None:
    seen: dict[str, Location] = {}
    for provenance in declared.provenances():
        first = seen.setdefault(provenance.name, provenance.location)
        if provenance.name and first is not provenance.location:
            declared.faults.add(
                provenance.location, provenance.name, f"is already declared at {first}", "a name of its own"
            )


def _check_unique_symptoms(declared: Declared) -> None:
    seen: dict[str, Location] = {}
    for symptom in declared.symptoms:
        for name in (symptom.name, *symptom.aliases):
            first = seen.setdefault(name, symptom.location)
            if name and first is not symptom.location:
                declared.faults.add(
                    symptom.location, symptom.name, f"symptom {name!r} is already declared at {first}", "a new name"
                )


@dataclass(frozen=True, slots=True)
class _Emitted:
    """One symptom that one rule may emit, and with which type."""

    location: Location
    rule: str
    type: str
    symptom: str


def _emitted(declared: Declared) -> Iterator[_Emitted]:
    for text in declared.text_rules:
        yield from _emitted_by(text.provenance, text.emit, text.catalog)
    for accumulator in declared.accumulators:
        for symptom in accumulator.symptoms:
            yield _Emitted(accumulator.provenance.location, accumulator.name, "", symptom)
    for metric in declared.metric_rules:
        yield from _emitted_by(metric.provenance, metric.emit, metric.catalog)


def _emitted_by(provenance: Provenance, emit: Emit, catalog: CatalogTable | None) -> Iterator[_Emitted]:
    if catalog is None:
        if not placeholders(emit.symptom):
            yield _Emitted(provenance.location, provenance.name, emit.type, emit.symptom)
        return
    kind, symptom = compile_template(emit.type), compile_template(emit.symptom)
    found = {(render(kind, row), render(symptom, row)) for row in catalog.rows.values()}
    if catalog.default.get("event"):
        found.add((catalog.default["event"], catalog.default.get("symptom", "")))
    for event, name in sorted(found):
        yield _Emitted(provenance.location, provenance.name, event, name)


def _check_emitted(declared: Declared, registry: GeneratedSymptomRegistry) -> None:
    for emitted in _emitted(declared):
        if not emitted.symptom:
            continue
        if emitted.symptom not in registry:
            declared.faults.add(
                emitted.location,
                f"{emitted.rule} emit",
                f"unknown symptom {emitted.symptom!r}",
                "a declared [[symptom]]",
            )
        elif emitted.type == "stop" and sub_domain_of(registry.get(emitted.symptom).outcome) is not SubDomain.NONE:
            outcome = registry.get(emitted.symptom).outcome
            declared.faults.add(
                emitted.location, f"{emitted.rule} emit", f"stop with a symptom of outcome {outcome}", _ENDINGS
            )


def _check_refiners(declared: Declared, registry: GeneratedSymptomRegistry) -> None:
    for refiner in declared.refiners:
        matchers = list(declared.refiner_symptoms.get(refiner.provenance.name, ()))
        if refiner.relation is not None:
            matchers += [*refiner.relation.causes, *refiner.relation.consequences]
        for matcher in matchers:
            try:
                found = registry.resolve([matcher])
            except UnknownSymptomError as error:
                problem, expected = f"unknown symptom {error.args[0]!r}", "a declared [[symptom]]"
            else:
                if found:
                    continue
                problem, expected = f"{matcher} stands for no symptom at all", "one that some symptom fits"
            declared.faults.add(refiner.provenance.location, refiner.provenance.name, problem, expected)


def _check_dependencies(declared: Declared) -> None:
    phases = dict(_phases(declared))
    by_name: dict[str, Provenance] = {}
    for provenance in declared.provenances():
        by_name.setdefault(provenance.definition or provenance.name, provenance)
        by_name[provenance.name] = provenance
    for provenance in declared.provenances():
        for name in provenance.depends_on:
            problem = _wrong_dependency(provenance, name, by_name, phases)
            if problem:
                declared.faults.add(
                    provenance.location,
                    f"{provenance.name} depends_on",
                    problem,
                    "a running rule of the same or an earlier phase",
                )


def _phases(declared: Declared) -> Iterator[tuple[str, tuple[int, int]]]:
    for provenance in declared.provenances():
        yield provenance.name, (_EXTRACTION, 0)
    for found in declared.filters:
        yield found.provenance.name, (_FILTERING, found.priority)
    for refiner in declared.refiners:
        yield refiner.provenance.name, (_REFINEMENT, refiner.priority)
    for collector in declared.collectors:
        yield collector.provenance.name, (_COLLECTIONS, 0)


def _wrong_dependency(
    rule: Provenance, name: str, by_name: Mapping[str, Provenance], phases: Mapping[str, tuple[int, int]]
) -> str:
    found = by_name.get(name)
    if found is None:
        return f"{name!r} does not exist"
    if found.status is RuleStatus.DEPRECATED and rule.status is not RuleStatus.DEPRECATED:
        return f"{name!r} is deprecated"
    if found.status is RuleStatus.STAGED and rule.status is RuleStatus.STABLE:
        return f"{name!r} is only staged"
    if phases[found.name] > phases[rule.name]:
        return f"{name!r} runs later"
    if _reaches(found, rule, by_name):
        return f"{name!r} depends on this rule in turn"
    return ""


def _reaches(start: Provenance, goal: Provenance, by_name: Mapping[str, Provenance]) -> bool:
    todo, seen = [start], set[str]()
    while todo:
        rule = todo.pop()
        if rule.name == goal.name:
            return True
        if rule.name not in seen:
            seen.add(rule.name)
            todo.extend(by_name[name] for name in rule.depends_on if name in by_name)
    return False
