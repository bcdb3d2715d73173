"""The per-job interface over events that filters, refiners and collectors see during attribution.

A stream works on a private copy of the events table: whatever the phases do to it, the table stays as it was before
filtering, which is the checkpoint that the next ingestion continues from.
"""

from __future__ import annotations

from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import (
    ACTIVE,
    BAD_NODE,
    DISCARDED,
    Clock,
    Event,
    EventState,
    EventType,
    ExplainedBy,
    Position,
)
from attribution_lib.events.ordered import OrderedEvents, event_order, in_order, indexes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping

    from attribution_lib.events.ordered import EventIndex

__all__ = ["EventStream", "event_order"]

_TYPE = "event_type"


class EventStream:
    """Sorted, indexed access to one job's events, with the only two ways to change one: demote and discard."""

    def __init__(self, events: Iterable[Event], known_symptoms: Container[str] | None = None) -> None:
        self._known_symptoms = known_symptoms
        self._all = OrderedEvents(in_order(events))
        self._indexes: dict[str, EventIndex] = {}
        """By attribute; made when one is first asked for."""
        self._current: dict[str, tuple[int, list[Event]]] = {}
        """{type: how many events had changed, those that were not discarded then}."""
        self._changes = 0
        self.uncertain_clearing = False
        """True once a discard that lacked time or place cleared a contender: confidence is then at most medium."""

    def __iter__(self) -> Iterator[Event]:
        return iter(self._all.events)

    def __len__(self) -> int:
        return len(self._all.events)

    def add(self, event: Event) -> Event:
        """Insert an event in order."""
        self.add_all((event,))
        return event

    def add_all(self, events: Iterable[Event]) -> None:
        """Insert many events in order."""
        for event in events:
            self._all.add(event)
            for index in self._indexes.values():
                index.add(event)
        self._current.clear()

    def replace_all(self, events: Iterable[Event]) -> None:
        """Put other events in place of all (EARLY steps that convert clocks and fold again)."""
        self._all = OrderedEvents(in_order(events))
        self._indexes.clear()
        self._current.clear()

    def events(  # noqa: PLR0913 -- all that may be asked for, keyword-only
        self,
        *,
        symptom: str | Iterable[str] | None = None,
        rule: str | Iterable[str] | None = None,
        source: str | None = None,
        node: str | None = None,
        type: EventType | str | None = None,  # noqa: A002 -- the contract's name for it
        since: int | None = None,
        active: bool = True,
    ) -> list[Event]:
        """Events in order. ``active`` leaves out discarded ones; ``since`` is µs UTC and drops untimed events.

        ``symptom`` and ``rule`` take one name or several. By them and by ``source`` and ``type`` events are indexed.
        """
        if type is not None and active and (symptom, rule, source, node, since) == (None,) * 5:
            return self._current_of(type).copy()
        found = self._candidates({"symptom": symptom, "rule": rule, "source": source, _TYPE: type}, active=active)
        if node is not None:
            found = [event for event in found if event.node == node]
        if since is not None:
            found = [event for event in found if event.timestamp is not None and event.timestamp >= since]
        return list(found)

    def bad(
        self,
        symptoms: Iterable[str] | None = None,
        *,
        rules: Iterable[str] | None = None,
        source: str | None = None,
    ) -> list[Event]:
        """Active bad-node events, of these symptoms, rules and source or of all, in order."""
        return self.events(symptom=symptoms, rule=rules, source=source, type=EventType.BAD_NODE)

    def _current_of(self, event_type: str) -> list[Event]:
        """All of a type that are not discarded; many rules ask for the same one after the other."""
        known = self._current.get(event_type)
        if known is not None and known[0] == self._changes:
            return known[1]
        found = self._index(_TYPE).of((event_type,)) if known is None else known[1]
        found = _active(found, (event_type,))
        self._current[event_type] = (self._changes, found)
        return found

    def _candidates(self, wanted: Mapping[str, str | Iterable[str] | None], *, active: bool) -> list[Event]:
        """Events by attributes: looked up by the one that narrows most, compared in the others."""
        names = {
            attribute: frozenset((values,) if isinstance(values, str) else values)
            for attribute, values in wanted.items()
            if values is not None
        }
        found = self._all.events
        if names:
            narrowest = min(names, key=lambda attribute: self._index(attribute).size(names[attribute]))
            found = self._index(narrowest).of(names.pop(narrowest) if narrowest != _TYPE else names[_TYPE])
        if active:
            found = _active(found, names.pop(_TYPE, None))
        for attribute, values in names.items():
            value_of = attrgetter(attribute)
            found = [event for event in found if value_of(event) in values]
        return found

    def _index(self, attribute: str) -> EventIndex:
        if not self._indexes:
            self._indexes = indexes_of(self._all.events)
        return self._indexes[attribute]

    def symptoms(self) -> frozenset[str]:
        """Names of all symptoms that some event carries, whatever became of it."""
        return self._index("symptom").values()

    def rules(self) -> frozenset[str]:
        """Names of all rules that some event comes from, whatever became of it."""
        return self._index("rule").values()

    def demote(self, event: Event, *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Turn a bad-node event into an interesting one; it keeps its original type and says who did it."""
        if event.state is not ACTIVE or event.event_type != BAD_NODE:
            return
        event.original_type = event.event_type
        event.event_type = EventType.INTERESTING_NODE
        event.state = EventState.DEMOTED
        event.changed_by = by
        event.explained_by = _explained(explained_by)
        self._changes += 1
        self._current.pop(EventType.INTERESTING_NODE, None)
        if _TYPE in self._indexes:
            self._indexes[_TYPE].add(event)

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
        self._changes += 1
        self.uncertain_clearing = self.uncertain_clearing or uncertain

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


def _active(events: list[Event], types: Collection[str] | None) -> list[Event]:
    """Those that are not discarded; of these types, where some are given: an event may have left its type."""
    if types is None:
        return [event for event in events if event.state is not DISCARDED]
    if len(types) > 1:
        return [event for event in events if event.state is not DISCARDED and event.event_type in types]
    (only,) = types
    return [event for event in events if event.state is not DISCARDED and event.event_type == only]


def _explained(by: Event | ExplainedBy | None) -> ExplainedBy | None:
    if isinstance(by, Event):
        return ExplainedBy(by.symptom or by.event_type, by.source, by.node)
    return by


def fact_event(  # noqa: PLR0913 -- one argument per fact; every one is needed and keyword-only
    *,
    event_type: EventType,
    rule: str,
    symptom: str,
    datum: str,
    node: str | None = None,
    timestamp: int | None = None,
    payload: Mapping[str, Any] | None = None,
) -> Event:
    """An event made from a scheduler fact of the job itself: no line stands behind it."""
    position = Position(timestamp, "", None)
    return Event(
        event_type=event_type,
        rule=rule,
        source="scheduler",
        stream="",
        line_num=None,
        timestamp=timestamp,
        clock=Clock.NONE if timestamp is None else Clock.UTC,
        node=node,
        rank=None,
        device=None,
        symptom=symptom,
        payload=dict(payload or {}),
        datum=datum,
        first=position,
        last=position,
    )
