"""The mechanism behind cascade refiners: *A explains B*, with a direction, a scope and a time rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.events.stream import event_order
from attribution_lib.rules.bad_events import CascadeScope, place_of
from attribution_lib.rules.causes import Order, TimeRule

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.rules.causes import Causes
    from attribution_lib.rules.contexts import RefinerContext
    from attribution_lib.rules.registry import SymptomMatcher

__all__ = ["Cascade", "CascadeScope", "Order", "apply_cascade"]


@dataclass(frozen=True, slots=True)
class Cascade:
    """One documented relation. ``slack`` seconds allow for clocks that differ; ``within`` seconds bound the reach."""

    name: str
    causes: Sequence[SymptomMatcher]
    consequences: Sequence[SymptomMatcher]
    scope: CascadeScope
    order: Order = Order.BEFORE
    slack: int = 60
    within: int | None = None


def apply_cascade(cascade: Cascade, context: RefinerContext) -> None:
    """Discard every bad event that a cause in scope explains, naming the cause.

    A symptom never explains itself. Where times are missing, stream order decides within a stream; across streams only
    an ``Order.ANY`` cascade applies, and the clearing counts as uncertain.
    """
    bad = context.my_bad_nodes
    causes = [name for name in sorted(context.registry.resolve(cascade.causes)) if name in bad.symptoms]
    consequences = context.registry.resolve(cascade.consequences)
    tables = [(name, bad.causes(name, cascade.scope)) for name in causes]
    rule = TimeRule.of(cascade.order, cascade.slack, cascade.within)
    place = place_of(cascade.scope)
    # What is discarded explains nothing more, so order matters where a consequence may itself be a cause.
    in_order = not consequences.isdisjoint(causes)
    for event in bad.of(consequences, in_order=in_order) if tables else ():
        found = _first_cause(event, place(event), tables, rule)
        if found is not None:
            cause, certain = found
            context.event_stream.discard(event, by=cascade.name, explained_by=cause, uncertain=not certain)


def _first_cause(
    event: Event, where: Hashable | None, tables: Sequence[tuple[str, Mapping[Hashable, Causes]]], rule: TimeRule
) -> tuple[Event, bool] | None:
    """The first event of any symptom that explains this one, and whether it surely came in time."""
    found: tuple[Event, bool] | None = None
    for symptom, table in tables:
        causes = table.get(where)
        if causes is None or symptom == event.symptom:
            continue
        first = causes.first_for(event, rule)
        if first is not None and (found is None or event_order(first[0]) < event_order(found[0])):
            found = first
    return found
