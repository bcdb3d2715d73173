"""The per-job interface over events that filters, refiners and collectors see during attribution.

A stream works on a private copy of the events table: whatever the phases do to it, the table stays as it was before
filtering, which is the checkpoint that the next ingestion continues from.
"""

from __future__ import annotations

from bisect import insort
from copy import copy
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import Clock, Event, EventState, EventType, ExplainedBy, Position

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

__all__ = ["EventStream", "event_order"]

_INFINITY = float("inf")


def event_order(event: Event) -> tuple[float, str, str, int, str, int, str, str]:
    """The total order of events: time (null last), source, stream, line, node, rank, symptom, rule."""
    return (
        _INFINITY if event.timestamp is None else event.timestamp,
        event.source,
        event.stream,
        event.line_num or 0,
        event.node or "",
        -1 if event.rank is None else event.rank,
        event.symptom or "",
        event.rule,
    )


class EventStream:
    """Sorted, indexed access to one job's events, with the only two ways to change one: demote and discard."""

    def __init__(self, events: Iterable[Event], known_symptoms: Container[str] | None = None) -> None:
        self._known_symptoms = known_symptoms
        self._events: list[Event] = sorted(events, key=event_order)
        self._by_symptom: dict[str, list[Event]] | None = None
        self._by_type: dict[str, list[Event]] | None = None
        self.uncertain_clearing = False
        """True once a discard that lacked time or place cleared a contender: confidence is then at most medium."""

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def add(self, event: Event) -> Event:
        """Insert an event in order."""
        insort(self._events, event, key=event_order)
        self._by_symptom = self._by_type = None
        return event

    def add_all(self, events: Iterable[Event]) -> None:
        """Insert many events in order, sorting once."""
        self._events.extend(events)
        self._events.sort(key=event_order)
        self._by_symptom = self._by_type = None

    def replace_all(self, events: Iterable[Event]) -> None:
        """Put other events in place of all (EARLY steps that convert clocks and fold again)."""
        self._events = sorted(events, key=event_order)
        self._by_symptom = self._by_type = None

    def events(
        self,
        *,
        symptom: str | Iterable[str] | None = None,
        node: str | None = None,
        type: EventType | str | None = None,  # noqa: A002 -- the contract's name for it
        since: int | None = None,
        active: bool = True,
    ) -> list[Event]:
        """Events in order. ``active`` leaves out discarded ones; ``since`` is µs UTC and drops untimed events."""
        found = self._candidates(symptom, type)
        return [
            event
            for event in found
            if (not active or event.state is not EventState.DISCARDED)
            and (node is None or event.node == node)
            and (type is None or event.event_type == type)
            and (since is None or (event.timestamp is not None and event.timestamp >= since))
        ]

    def bad(self, symptoms: Iterable[str] | None = None) -> list[Event]:
        """Active bad-node events, of these symptoms or of all, in order."""
        return self.events(symptom=symptoms, type=EventType.BAD_NODE)

    def _candidates(self, symptom: str | Iterable[str] | None, event_type: str | None) -> list[Event]:
        if symptom is None:
            if event_type is None:
                return self._events
            if self._by_type is None:
                self._by_type = _group(self._events, "event_type")
            return self._by_type.get(event_type, [])
        if self._by_symptom is None:
            self._by_symptom = _group(self._events, "symptom")
        if isinstance(symptom, str):
            return self._by_symptom.get(symptom, [])
        lists = [found for name in sorted(set(symptom)) if (found := self._by_symptom.get(name))]
        if len(lists) == 1:
            return lists[0]
        return sorted((event for found in lists for event in found), key=event_order)

    def symptoms(self) -> frozenset[str]:
        """Names of all symptoms that some event carries, whatever became of it."""
        if self._by_symptom is None:
            self._by_symptom = _group(self._events, "symptom")
        return frozenset(self._by_symptom)

    def demote(self, event: Event, *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Turn a bad-node event into an interesting one; it keeps its original type and says who did it."""
        if event.state is not EventState.ACTIVE or event.event_type != EventType.BAD_NODE:
            return
        event.original_type = event.event_type
        event.event_type = EventType.INTERESTING_NODE
        event.state = EventState.DEMOTED
        event.changed_by = by
        event.explained_by = _explained(explained_by)
        self._by_type = None

    def discard(
        self, event: Event, *, by: str, explained_by: Event | ExplainedBy | None = None, uncertain: bool = False
    ) -> None:
        """Take an event out of the decision; the row stays and says who did it and what explains it.

        ``uncertain`` says that the reason lacked time or place.
        """
        if event.state is EventState.DISCARDED:
            return
        event.state = EventState.DISCARDED
        event.changed_by = by
        event.explained_by = _explained(explained_by)
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
        event.payload = dict(payload or {})
        event.times = dict(derived_from.times)
        event.key_fields, event.fold, event.overflow = (), "", 0
        event.state, event.original_type, event.changed_by, event.explained_by = EventState.ACTIVE, None, None, None
        event.derived_from = derived_from.rule
        return self.add(event)


def _group(events: Iterable[Event], attribute: str) -> dict[str, list[Event]]:
    groups: dict[str, list[Event]] = {}
    for event in events:
        value = getattr(event, attribute)
        if value is not None:
            groups.setdefault(value, []).append(event)
    return groups


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
