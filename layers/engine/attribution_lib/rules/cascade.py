"""The mechanism behind cascade refiners: *A explains B*, with a direction, a scope and a time rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.events.event import ACTIVE
from attribution_lib.events.stream import event_order
from attribution_lib.rules.bad_events import CascadeScope, place_of
from attribution_lib.rules.causes import Order, TimeRule

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.rules.bad_events import PlacedCauses
    from attribution_lib.rules.contexts import RefinerContext
    from attribution_lib.rules.registry import SymptomMatcher

__all__ = ["Cascade", "CascadeScope", "Order", "apply_cascade"]


@dataclass(frozen=True, slots=True)
class Cascade:
    """One documented relation. ``slack`` seconds allow for clocks that differ; ``within`` seconds bound the reach.

    With ``Order.ANY`` and a ``slack`` only what has no time may stand in any order.
    """

    name: str
    causes: Sequence[SymptomMatcher]
    consequences: Sequence[SymptomMatcher]
    scope: CascadeScope
    order: Order = Order.BEFORE
    slack: int | None = None
    within: int | None = None


def apply_cascade(cascade: Cascade, context: RefinerContext) -> None:
    """Discard every bad event that a cause in scope explains, naming the cause.

    A symptom never explains itself. Where times are missing, stream order decides within a stream; across streams only
    an ``Order.ANY`` cascade applies, and the clearing counts as uncertain.
    """
    bad = context.my_bad_nodes
    causes = [name for name in sorted(context.registry.resolve(cascade.causes)) if name in bad.symptoms]
    consequences = context.registry.resolve(cascade.consequences)
    if not causes or consequences.isdisjoint(bad.symptoms):
        return
    tables = [(name, bad.causes(name, cascade.scope)) for name in causes]
    rule = TimeRule.of(cascade.order, cascade.slack, cascade.within)
    place = place_of(cascade.scope)
    latest = _Latest(rule, tables) if cascade.scope is CascadeScope.JOB else None
    # What is discarded explains nothing more, so order matters where a consequence may itself be a cause.
    in_order = not consequences.isdisjoint(causes)
    for event in bad.of(consequences, in_order=in_order):
        found = None if latest is None else latest.again(event)
        if found is None:
            found = _first_cause(event, place(event), tables, rule)
            if latest is not None and found is not None:
                latest.note(event, found)
        if found is not None:
            cause, certain = found
            context.event_stream.discard(event, by=cascade.name, explained_by=cause, uncertain=not certain)


_Found = tuple["Event", bool]
"""A cause, and whether it surely came in time."""


class _Latest:
    """The cause found last for each symptom, which nearly always explains the next event of it as well.

    It is the first one for any later event that it still explains: whatever comes before it in order started no later,
    so that it was too early already or is out of the decision. That holds where all causes stand in the order in which
    they started.
    """

    __slots__ = ("_found", "_holds", "_rule")

    def __init__(self, rule: TimeRule, tables: Iterable[tuple[str, PlacedCauses]]) -> None:
        self._rule = rule
        self._holds = all(table.in_order_of_start() for _, table in tables)
        self._found: dict[str | None, tuple[int, _Found]] = {}

    def note(self, event: Event, found: _Found) -> None:
        """Remember what was found for an event."""
        at = event.first[0]
        if self._holds and at is not None:
            self._found[event.symptom] = (at, found)

    def again(self, event: Event) -> _Found | None:
        """What is known to be found for an event."""
        since, found = self._found.get(event.symptom, _NOTHING)
        at = event.first[0]
        if found is None or at is None or at < since or found[0].state is not ACTIVE:
            return None
        return found if self._rule.explains(found[0], event) else None


_NOTHING: tuple[int, None] = (0, None)


def _first_cause(
    event: Event, where: Hashable | None, tables: Sequence[tuple[str, PlacedCauses]], rule: TimeRule
) -> _Found | None:
    """The first event of any symptom that explains this one."""
    found: _Found | None = None
    for symptom, table in tables:
        if symptom == event.symptom:
            continue
        first = table.first_for(event, where, rule)
        if first is not None and (found is None or _precedes(first[0], found[0])):
            found = first
    return found


def _precedes(one: Event, other: Event) -> bool:
    """Whether one comes first in event order, which nearly always the times tell."""
    at, then = one.timestamp, other.timestamp
    if at is not None and then is not None and at != then:
        return at < then
    return event_order(one) < event_order(other)
