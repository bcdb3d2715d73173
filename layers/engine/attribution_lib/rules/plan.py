"""What each source is scanned for: a matcher over all its patterns and, per pattern, its confirmation and its rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_lib.match.matcher import Matcher
    from attribution_lib.match.pattern import Confirm
    from attribution_lib.observation import Source
    from attribution_lib.rules.emission import Emitter
    from attribution_lib.rules.model import AccumulatorRule, TextRule

__all__ = ["ExtractionPlan", "PlannedRule", "SourcePlans"]


class PlannedRule:
    """One pattern: the regex that decides on a single line, and of its rule what each hit needs."""

    def __init__(self, rule: TextRule | AccumulatorRule, pattern: str, engine: str) -> None:
        self.rule = rule
        self.pattern = pattern
        self.engine = engine
        self.name = rule.name
        self.key = rule.key
        self.fold: str = getattr(rule, "fold", "")
        self.emitter: Emitter | None = getattr(rule, "emitter", None)
        """None for accumulators."""
        self.last_resort: bool = getattr(rule, "last_resort", False)

    @cached_property
    def confirm(self) -> Confirm:
        """Compiled when first asked for: few rules of all hit the evidence of one job."""
        from attribution_lib.match.pattern import compile_confirm  # noqa: PLC0415 -- see SourcePlans

        return compile_confirm(self.pattern, self.engine)


@dataclass(frozen=True, slots=True)
class ExtractionPlan:
    """Everything extraction needs for one source. Shared by threads: the matcher keeps a scratch per thread."""

    source: Source
    matcher: Matcher
    rules: tuple[PlannedRule, ...]


class SourcePlans:
    """The plans of one engine, each made when its source is first met and then kept.

    ``cache_dir`` keeps the compiled databases between processes.
    """

    def __init__(
        self,
        text_rules: Sequence[TextRule],
        accumulators: Sequence[AccumulatorRule],
        digest: str,
        cache_dir: Path | None = None,
    ) -> None:
        self._rules = [
            *(PlannedRule(rule, rule.match_re, rule.engine) for rule in text_rules),
            *(
                PlannedRule(rule, rule.trigger_re, "re2")
                for rule in sorted(accumulators, key=lambda rule: rule.last_resort)
            ),
        ]
        """Shared by the sources: most rules look at several. Those of last resort are asked last."""
        self._digest = digest
        self._cache_dir = cache_dir
        self._plans: dict[Source, ExtractionPlan] = {}
        self._lock = Lock()

    def of(self, source: Source) -> ExtractionPlan:
        """The plan of a text source."""
        plan = self._plans.get(source)
        if plan is None:
            with self._lock:
                plan = self._plans.get(source)
                if plan is None:
                    plan = self._plans[source] = self._make(source)
        return plan

    def diagnostics(self) -> list[tuple[str, str]]:
        """(source, what went wrong) for every plan made so far whose matcher could not do all by itself."""
        return [
            (source.value, diagnostic)
            for source, plan in sorted(self._plans.items())
            for diagnostic in plan.matcher.diagnostics
        ]

    def _make(self, source: Source) -> ExtractionPlan:
        # A process that only attributes never scans a line: it need not load the matching libraries.
        from attribution_lib.match.matcher import build_matcher  # noqa: PLC0415 -- see above

        rules = [planned for planned in self._rules if source in planned.rule.sources]
        return ExtractionPlan(
            source=source,
            matcher=build_matcher(
                [rule.pattern for rule in rules],
                [rule.engine for rule in rules],
                cache_dir=self._cache_dir,
                digest=f"{self._digest}-{source.value}",
            ),
            rules=tuple(rules),
        )
