"""Folding events that are mostly folded already: only the rules in which that changes anything are folded again."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import Clock
from attribution_lib.events.fold import fold_key
from attribution_lib.events.folder import KEYS_PER_PLACE, KEYS_PER_RULE, Folder
from attribution_lib.events.ordered import by_kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from attribution_lib.events.event import Event
    from attribution_lib.events.ordered import EventsByKind

__all__ = ["refolded_kinds"]


def refolded_kinds(kinds: EventsByKind, rules: Collection[str]) -> EventsByKind:
    """What a ``Folder`` would leave of seeded events: each key once, within the caps.

    Only events of these rules may have become equal, or too many for one node: the others' were folded before.
    """
    suspects = [event for kind, events in kinds.items() if kind[1] in rules for event in events]
    if not suspects:
        return kinds
    others = {kind: events for kind, events in kinds.items() if kind[1] not in rules}
    return others | by_kind(_refolded(suspects))


def _refolded(events: list[Event]) -> list[Event]:
    again = _rules_to_fold(events)
    if not again:
        return events
    folder = Folder()
    folder.add_all(event for event in events if event.rule in again)
    return [*(event for event in events if event.rule not in again), *folder.events()]


def _rules_to_fold(events: list[Event]) -> set[str]:
    """Rules with two events of one key, more keys than a cap allows, or occurrences that a cap put out."""
    keys = [_utc_key(event) if event.clock is Clock.UTC else fold_key(event) for event in events]
    again = {event.rule for event in events if event.overflow} | _over_caps(events)
    if len(set(keys)) < len(keys):
        again.update(
            event.rule for event, count in zip(events, map(Counter(keys).__getitem__, keys), strict=True) if count > 1
        )
    return again


_utc_key = attrgetter("rule", "event_type", "source", "node", "rank", "device", "symptom", "key_fields")
"""As ``fold_key``, without the clock and all that only other clocks need: of a million keys most are compared only."""


_rule, _node = attrgetter("rule"), attrgetter("node")


def _over_caps(events: list[Event]) -> set[str]:
    per_rule = Counter(map(_rule, events))
    many = {rule for rule, count in per_rule.items() if count > KEYS_PER_PLACE}
    if not many:
        return many
    nodes = Counter(zip(map(_rule, events), map(_node, events), strict=True))
    if max(nodes.values()) <= KEYS_PER_PLACE:  # nor then on any rank of a node
        return {rule for rule in many if per_rule[rule] > KEYS_PER_RULE}
    places = Counter([(event.rule, event.node, event.rank) for event in events if event.rule in many])
    crowded = {place[0] for place, count in places.items() if count > KEYS_PER_PLACE}
    return crowded | {rule for rule in many if per_rule[rule] > KEYS_PER_RULE}
