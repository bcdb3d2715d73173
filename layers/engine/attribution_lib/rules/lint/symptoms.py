"""Checks of the vocabulary: is every symptom used, explained and ranked like its kind?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attribution_lib.job.facts import CANCELLED_BY_OPERATOR, CANCELLED_BY_USER, NODE_FAILURE, STATE_SYMPTOMS
from attribution_lib.rules.lint.model import Issue, Severity
from attribution_lib.rules.model import MetricRule, TextRule
from attribution_lib.taxonomy import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.lint.model import LintInput

__all__ = ["MissingDocs", "RankBand", "UnreachableSymptom", "emitted_symptoms"]

_SHORTEST_DOCS = 20
_CEILINGS: dict[Outcome, int] = {
    Outcome.COMMUNICATION_FAILURE: 400,
    Outcome.NODE_DOWN: 600,
    Outcome.AMBIGUOUS: 600,
}
"""Outcomes that say nothing about a part or an error: their symptoms must not outrank those that do."""


def emitted_symptoms(engine: RuleEngine) -> frozenset[str]:
    """The symptoms that some declarative rule, accumulator or scheduler fact can emit."""
    found = {NODE_FAILURE, CANCELLED_BY_USER, CANCELLED_BY_OPERATOR, *STATE_SYMPTOMS.values()}
    for accumulator in engine.accumulators:
        found.update(engine.registry.get(name).name for name in accumulator.symptoms)
    emitters = [rule.emitter for rule in engine.text_rules] + [rule.emitter for rule in engine.metric_rules]
    found.update(name for emitter in emitters if emitter is not None for name in emitter.symptoms)
    return frozenset(found)


class UnreachableSymptom:
    """A symptom that nothing can emit is a word nobody will ever say."""

    id: ClassVar[str] = "unreachable-symptom"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "a declared symptom must be emitted by some rule, or named in a Python rule"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Declared, never emitted, and in no Python rule file either."""
        emitted = emitted_symptoms(given.engine)
        sources = given.python_sources.values()
        for symptom in given.engine.registry:
            if symptom.name not in emitted and not any(symptom.name in text for text in sources):
                yield Issue(self.id, self.severity, symptom.location, symptom.name, "no rule emits it")


class MissingDocs:
    """The reader of a verdict needs to know what a symptom means and what to check next."""

    id: ClassVar[str] = "missing-docs"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "symptoms and Python rules must say what they mean"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Symptoms, filters, refiners, collectors and accumulators with less than a sentence."""
        engine = given.engine
        for symptom in engine.registry:
            if len(symptom.docs) < _SHORTEST_DOCS:
                yield Issue(self.id, self.severity, symptom.location, symptom.name, "docs say less than a sentence")
        for rule in engine.rules():
            if isinstance(rule, TextRule | MetricRule):
                continue  # what they mean stands with their symptoms
            if len(rule.docs) < _SHORTEST_DOCS:
                at = rule.provenance
                yield Issue(self.id, self.severity, at.location, at.name, "its docstring says less than a sentence")


class RankBand:
    """The rank says how specific a cause is; some outcomes cannot be specific."""

    id: ClassVar[str] = "rank-band"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "consequences, dead nodes and ambiguous facts must not outrank specific causes"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """Symptoms above the band of their outcome."""
        for symptom in given.engine.registry:
            ceiling = _CEILINGS.get(symptom.outcome)
            if symptom.root and ceiling is not None and symptom.rank >= ceiling:
                message = f"rank {symptom.rank} for outcome {symptom.outcome}; expected less than {ceiling}"
                yield Issue(self.id, self.severity, symptom.location, symptom.name, message)
