"""Reading ``accumulator_def`` and holding its emissions to the registry while it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attribution_lib.rules.model import EMIT_TYPES, Accumulator, AccumulatorRule
from attribution_lib.rules.patterns import PatternError, read_pattern
from attribution_lib.rules.provenance import read_provenance
from attribution_lib.rules.signatures import check_accumulator
from attribution_lib.rules.text_rules import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attribution_lib.job.model import JobIdentity
    from attribution_lib.rules.declared import Declared, RawRule
    from attribution_lib.rules.model import Emission
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["bind_accumulator", "read_accumulator"]


def read_accumulator(raw: RawRule, target: Callable[..., Accumulator], declared: Declared) -> None:
    """Add the rule of an ``accumulator_def``. ``symptoms`` names what it may emit, for the checks and the docs."""
    reader = raw.reader
    rule = AccumulatorRule(
        provenance=read_provenance(reader),
        trigger_re=reader.text("trigger_re"),
        factory=target,
        sources=read_sources(reader),
        key=reader.texts("key"),
        symptoms=reader.texts("symptoms"),
        last_resort=reader.flag("last_resort", default=False),
        docs=reader.text("docs", default=(target.__doc__ or "").strip()),
    )
    try:
        read_pattern(rule.trigger_re)
    except PatternError as error:
        reader.fault("trigger_re", f"pattern does not compile: {error}", "a pattern that RE2 accepts")
    check_accumulator(reader, target)
    reader.finish()
    declared.accumulators.append(rule)


def bind_accumulator(rule: AccumulatorRule, registry: GeneratedSymptomRegistry) -> AccumulatorRule:
    """The rule with a factory whose accumulators can emit registered symptoms and known types alone."""
    factory = rule.factory

    def make(job: JobIdentity, captures: Mapping[str, str], line: str) -> Accumulator:
        return _Checked(factory(job, captures, line), registry)

    return replace(rule, factory=make)


@dataclass(frozen=True, slots=True)
class _Checked:
    """An accumulator whose emissions are checked as they leave it; a wrong one is a crash of the rule."""

    inner: Accumulator
    registry: GeneratedSymptomRegistry

    def feed(self, line: str) -> bool:
        """Pass one line on."""
        return self.inner.feed(line)

    @property
    def complete(self) -> bool:
        """Whether the accumulator has seen its last line (it need not say so)."""
        return bool(getattr(self.inner, "complete", False))

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """Pass the emissions on, with aliases turned into declared names."""
        for emission in self.inner.finalize(truncated=truncated):
            if emission.type not in EMIT_TYPES:
                msg = f"emits type {emission.type!r}; expected one of {', '.join(EMIT_TYPES)}"
                raise ValueError(msg)
            symptom = self.registry.get(emission.symptom).name if emission.symptom else ""
            yield emission if symptom == emission.symptom else replace(emission, symptom=symptom)
