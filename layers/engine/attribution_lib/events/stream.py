"""The per-job interface over events that filters, refiners and collectors see during attribution.

A stream works on a private copy of the events table: whatever the phases do to it, the table stays as it was before
filtering, which is the checkpoint that the next ingestion continues from.
"""

from __future__ import annotations

from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from attribution_lib.events.event import (
    ACTIVE,
    BAD_NODE,
    DISCARDED,
    Event,
    EventState,
    EventType,
    ExplainedBy,
)
from attribution_lib.events.ordered import OrderedEvents, by_kind, event_order, kind_of, merged

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from attribution_lib.events.ordered import EventsByKind, Kind

    _Names = str | Iterable[str] | None

__all__ = ["EventStream", "event_order"]

_TYPE: Final = 0
_RULE, _SYMPTOM, _SOURCE = 1, 2, 3
"""Where these stand in a kind."""


class EventStream:
    """Sorted, indexed access to one job's events, with the only two ways to change one: demote and discard.

    Events are held kind by kind (type, rule, symptom, source): whoever asks by these gets whole lists, and what was
    never touched is not looked at again.
    """

    def __init__(self, kinds: EventsByKind, known_symptoms: Container[str] | None = None) -> None:
        self._known_symptoms = known_symptoms
        self._kinds: dict[Kind, OrderedEvents] = {}
        self._by_part: tuple[dict[str | None, list[Kind]], ...] = ({}, {}, {}, {})
        """For each part of a kind {its value: the kinds that have it}."""
        self._changed: set[Kind] = set()
        """Kinds of which some event was discarded, or is of another type by now."""
        self._active: dict[Kind, list[Event]] = {}
        """Of changed kinds what was active when somebody last asked; until it changes again."""
        self._merged: dict[tuple[Kind, ...], list[Event]] = {}
        """Events of several kinds in order, for those who ask again."""
        self.uncertainly_cleared: set[str] = set()
        """Symptoms of which an event was set aside for a reason that lacked time or place."""
        """True once a discard that lacked time or place cleared a contender: confidence is then at most medium."""
        self._add(kinds)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._in_order(list(self._kinds), active=False))

    def __len__(self) -> int:
        return sum(len(self._own(kind, active=False)) for kind in self._kinds)

    def add(self, event: Event) -> Event:
        """Insert an event in order."""
        self.add_all((event,))
        return event

    def add_all(self, events: Iterable[Event]) -> None:
        """Insert many events in order."""
        self._add(by_kind(events))

    def _add(self, kinds: EventsByKind) -> None:
        for kind, events in kinds.items():
            known = self._kinds.get(kind)
            if known is not None:
                known.add(events)
            else:
                self._kinds[kind] = OrderedEvents(events)
                for part, where in zip(kind, self._by_part, strict=True):
                    where.setdefault(part, []).append(kind)
            self._active.pop(kind, None)
            if set(map(_state_of, events)) != {ACTIVE}:
                self._changed.add(kind)
        stale = [several for several in self._merged if not kinds.keys().isdisjoint(several)]
        for several in stale:
            del self._merged[several]

    def reorder(self) -> None:
        """Put events in order again of which some stand elsewhere now (EARLY steps)."""
        for events in self._kinds.values():
            events.reorder()
        self._merged.clear()
        self._active.clear()

    def events(  # noqa: PLR0913 -- all that may be asked for, keyword-only
        self,
        *,
        symptom: _Names = None,
        rule: _Names = None,
        source: _Names = None,
        node: str | None = None,
        type: EventType | str | None = None,  # noqa: A002 -- the contract's name for it
        since: int | None = None,
        active: bool = True,
    ) -> list[Event]:
        """Events in order. ``active`` leaves out discarded ones; ``since`` is µs UTC and drops untimed events.

        ``symptom``, ``rule`` and ``source`` take one name or several. By them and by ``type`` events are indexed.
        """
        found = self._in_order(self._matching(type, rule, symptom, source), active=active)
        if node is not None:
            found = [event for event in found if event.node == node]
        if since is not None:
            found = [event for event in found if event.timestamp is not None and event.timestamp >= since]
        return found.copy()

    def bad(self, symptoms: _Names = None, *, rules: _Names = None, source: _Names = None) -> list[Event]:
        """Active bad-node events, of these symptoms, rules and source or of all, in order."""
        return self.events(symptom=symptoms, rule=rules, source=source, type=EventType.BAD_NODE)

    def lists(
        self,
        *,
        symptom: _Names = None,
        rule: _Names = None,
        source: _Names = None,
        type: EventType | str | None = None,  # noqa: A002 -- as ``events``
        active: bool = True,
    ) -> list[list[Event]]:
        """What ``events`` gives in lists alike in type, rule, symptom and source, each in order: for who needs no more.

        To put many events of different kinds in one order costs more than most of what is done with them.
        """
        kinds = self._matching(type, rule, symptom, source)
        return [found for kind in kinds if (found := self._own(kind, active=active))]

    def _matching(self, *wanted: _Names) -> list[Kind]:
        """The kinds that have these parts."""
        named = {
            part: frozenset((values,) if isinstance(values, str) else values)
            for part, values in enumerate(wanted)
            if values is not None
        }
        if not named:
            return list(self._kinds)
        first = min(named, key=_NARROW.__getitem__)
        where = self._by_part[first]
        found = [kind for value in sorted(named.pop(first)) for kind in where.get(value, ())]
        for part, values in named.items():
            found = [kind for kind in found if kind[part] in values]
        return found

    def _in_order(self, kinds: list[Kind], *, active: bool) -> list[Event]:
        """The events of these kinds."""
        if len(kinds) == 1:
            return self._own(kinds[0], active=active)
        changed = not self._changed.isdisjoint(kinds)
        if changed and len({kind[_TYPE] for kind in kinds}) > 1:  # what left a kind may stand in another of these
            return merged(self._own(kind, active=active) for kind in kinds)
        key = tuple(kinds)
        known = self._merged.get(key)
        if known is None:
            known = self._merged[key] = merged(self._kinds[kind].events for kind in kinds)
        return _current(known, kinds[0][_TYPE], active=active) if changed else known

    def _own(self, kind: Kind, *, active: bool) -> list[Event]:
        """The events that still are of this kind."""
        events = self._kinds[kind].events
        if kind not in self._changed:
            return events
        if not active:
            return _current(events, kind[_TYPE], active=False)
        found = self._active.get(kind)
        if found is None:
            found = self._active[kind] = _current(events, kind[_TYPE], active=True)
        return found

    def _note_change(self, kind: Kind) -> None:
        self._changed.add(kind)
        self._active.pop(kind, None)

    def symptoms(self) -> frozenset[str]:
        """Names of all symptoms that some event carries, whatever became of it."""
        return frozenset(name for name in self._by_part[_SYMPTOM] if name is not None)

    def rules(self) -> frozenset[str]:
        """Names of all rules that some event comes from, whatever became of it."""
        return frozenset(name for name in self._by_part[_RULE] if name is not None)

    def demote(self, event: Event, *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Turn a bad-node event into an interesting one; it keeps its original type and says who did it."""
        if event.state is not ACTIVE or event.event_type != BAD_NODE:
            return
        self._note_change(kind_of(event))
        _demote(event, by, _explained(explained_by))
        self._add({kind_of(event): [event]})

    def demote_all(
        self,
        events: Iterable[Event],
        *,
        by: str,
        explained_by: Event | ExplainedBy | None = None,
        uncertain: bool = False,
    ) -> None:
        """Demote many for one reason; ``uncertain`` as for ``discard``."""
        explained = _explained(explained_by)
        demoted = [event for event in events if event.state is ACTIVE and event.event_type == BAD_NODE]
        if uncertain:
            self.uncertainly_cleared.update(event.symptom for event in demoted if event.symptom is not None)
        for kind in set(map(kind_of, demoted)):
            self._note_change(kind)
        for event in demoted:
            _demote(event, by, explained)
        self._add(by_kind(demoted))

    def discard(
        self, event: Event, *, by: str, explained_by: Event | ExplainedBy | None = None, uncertain: bool = False
    ) -> None:
        """Take an event out of the decision; the row stays and says who did it and what explains it.

        ``uncertain`` says that the reason lacked time or place.
        """
        if event.state is DISCARDED:
            return
        event.state = DISCARDED
        event.changed_by = by
        event.explained_by = _explained(explained_by)
        self._note_change(kind_of(event))
        if uncertain and event.symptom is not None:
            self.uncertainly_cleared.add(event.symptom)

    def discard_all(self, events: Iterable[Event], *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Discard many for one reason."""
        explained = _explained(explained_by)  # one for all
        for event in events:
            self.discard(event, by=by, explained_by=explained)

    def emit(  # noqa: PLR0913 -- what may differ from the event it is derived from, all keyword-only
        self,
        *,
        event_type: EventType | str,
        rule: str,
        derived_from: Event,
        symptom: str | None = None,
        node: str | None = None,
        rank: int | None = None,
        device: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> Event:
        """Add an event derived from another one; it inherits that one's evidence line and place.

        A symptom that nobody declared raises ``ValueError``: the rule that emitted it shows up in the diagnostics.
        """
        if symptom is not None and self._known_symptoms is not None and symptom not in self._known_symptoms:
            msg = f"{rule} emits the symptom {symptom!r}, which no rule file declares"
            raise ValueError(msg)
        event = copy(derived_from)
        event.event_type, event.rule, event.symptom = event_type, rule, symptom
        event.node = node if node is not None else derived_from.node
        event.rank = rank if rank is not None else derived_from.rank
        event.device = device if device is not None else derived_from.device
        event.payload, event.text = dict(payload or {}), None  # type: ignore[misc] # a slot of the base class
        event.times = dict(derived_from.times)
        event.key_fields, event.fold, event.overflow = (), "", 0
        event.state, event.original_type, event.changed_by, event.explained_by = EventState.ACTIVE, None, None, None
        event.derived_from = derived_from.rule
        return self.add(event)


_NARROW = {_SYMPTOM: 0, _RULE: 1, _SOURCE: 2, _TYPE: 3}
"""Which part leaves the fewest kinds."""
_state_of = attrgetter("state")
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor: one event's after the other is explained."""


def _current(events: list[Event], event_type: str, *, active: bool) -> list[Event]:
    """Those that are still of their type; ``active``: and not discarded."""
    if active:
        return [event for event in events if event.state is not DISCARDED and event.event_type == event_type]
    return [event for event in events if event.event_type == event_type]


def _demote(event: Event, by: str, explained: ExplainedBy | None) -> None:
    event.original_type, event.event_type = event.event_type, EventType.INTERESTING_NODE
    event.state, event.changed_by, event.explained_by = EventState.DEMOTED, by, explained


def _explained(by: Event | ExplainedBy | None) -> ExplainedBy | None:
    return _bare(ExplainedBy, (by.symptom or by.event_type, by.source, by.node)) if isinstance(by, Event) else by
