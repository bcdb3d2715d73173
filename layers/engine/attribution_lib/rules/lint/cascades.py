"""Checks of the relations between symptoms."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attribution_lib.rules.cascade import Order
from attribution_lib.rules.lint.model import Issue, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.lint.model import LintInput

__all__ = ["MutualExplanation"]


class MutualExplanation:
    """Where A explains B and B explains A whenever they are seen, the order of the rules decides the verdict."""

    id: ClassVar[str] = "mutual-explanation"
    severity: ClassVar[Severity] = Severity.ERROR
    title: ClassVar[str] = "two symptoms must not explain each other regardless of order"

    def run(self, given: LintInput) -> Iterator[Issue]:
        """The second cascade of each such pair, once."""
        resolve = given.engine.registry.resolve
        explains: dict[tuple[str, str], str] = {}
        for refiner in given.engine.refiners:
            relation = refiner.relation
            if relation is None or relation.order is not Order.ANY:
                continue
            consequences = resolve(relation.consequences)
            pairs = [(cause, name) for cause in resolve(relation.causes) for name in consequences if cause != name]
            for cause, name in sorted(pairs):
                other = explains.get((name, cause))
                if other is not None:
                    message = f"{cause!r} explains {name!r} here, and the other way round in {other}"
                    provenance = refiner.provenance
                    yield Issue(self.id, self.severity, provenance.location, provenance.name, message)
                    break
            explains.update((pair, refiner.provenance.name) for pair in pairs)
