"""The bad events that a refiner looks at, by symptom and by the place where they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, overload

from attribution_lib.events.event import EventState
from attribution_lib.events.stream import event_order
from attribution_lib.observation import Source
from attribution_lib.rules.causes import Causes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

    from attribution_lib.events.event import Event

__all__ = ["BadEvents", "CascadeScope"]


class CascadeScope(StrEnum):
    """Where a cause reaches: the same device, the same rank, the same node, or anywhere in the job.

    Lines of one system log that names no host come from one machine, whichever it is: the log stands for its node.
    """

    DEVICE = "device"
    RANK = "rank"
    NODE = "node"
    JOB = "job"


class BadEvents(Sequence["Event"]):
    """As a sequence: the events that are still active, in order, each time it is asked.

    Indexed by symptom and place when first needed; the indexes serve all rules of a sub-phase, since an event that is
    out of the decision never comes back.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        """``events`` in event order."""
        self._events = list(events)
        self._groups: defaultdict[str | None, list[Event]] | None = None
        self._places: dict[tuple[CascadeScope, str], dict[Hashable, Causes]] = {}

    def __iter__(self) -> Iterator[Event]:
        return iter(self._active())

    def __len__(self) -> int:
        return len(self._active())

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self._active()[index]

    def __bool__(self) -> bool:
        return any(event.state is EventState.ACTIVE for event in self._events)

    @property
    def symptoms(self) -> Collection[str | None]:
        """The symptoms that were there at the start."""
        return self._by_symptom().keys()

    def of(self, symptoms: Collection[str], *, in_order: bool = True) -> list[Event]:
        """The active events of these symptoms; ``in_order`` across them, else symptom by symptom."""
        groups = self._by_symptom()
        found = [
            event
            for symptom in sorted(groups.keys() & frozenset(symptoms), key=str)
            for event in groups[symptom]
            if event.state is EventState.ACTIVE
        ]
        return sorted(found, key=event_order) if in_order else found

    def causes(self, symptom: str, scope: CascadeScope) -> Mapping[Hashable, Causes]:
        """The events of a symptom by place; see ``place_of``. Events that no place is known of are left out."""
        table = self._places.get((scope, symptom))
        if table is None:
            table = self._places[scope, symptom] = _by_place(self._by_symptom().get(symptom, ()), place_of(scope))
        return table

    def _active(self) -> list[Event]:
        return [event for event in self._events if event.state is EventState.ACTIVE]

    def _by_symptom(self) -> dict[str | None, list[Event]]:
        groups = self._groups
        if groups is None:
            groups = self._groups = defaultdict(list)
            for event in self._events:
                groups[event.symptom].append(event)
            groups.default_factory = None
        return groups


def _by_place(events: Iterable[Event], place: Callable[[Event], Hashable | None]) -> dict[Hashable, Causes]:
    table: dict[Hashable, Causes] = {}
    for event in events:
        where = place(event)
        if where is None:
            continue
        found = table.get(where)
        if found is None:
            table[where] = Causes((event,))
        else:
            found.add(event)
    return table


def place_of(scope: CascadeScope) -> Callable[[Event], Hashable | None]:
    """How a scope tells where an event happened; None when the event does not say."""
    return _PLACES[scope]


def _machine(event: Event) -> Hashable | None:
    if event.node is None and event.source == Source.SYSLOG:
        return ("stream", event.stream)
    return event.node


def _device(event: Event) -> Hashable | None:
    machine = _machine(event)
    return None if machine is None or event.device is None else (machine, event.device)


def _rank(event: Event) -> Hashable | None:
    return event.rank


def _job(_event: Event) -> Hashable | None:
    return "job"


_PLACES: dict[CascadeScope, Callable[[Event], Hashable | None]] = {
    CascadeScope.JOB: _job,
    CascadeScope.NODE: _machine,
    CascadeScope.RANK: _rank,
    CascadeScope.DEVICE: _device,
}
