"""The bad events that a refiner looks at, by symptom and by the place where they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, overload

from attribution_lib.events.event import ACTIVE
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
        self._groups: dict[str | None, list[int]] | None = None
        """{symptom: where in ``events`` it stands}."""
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
        return any(event.state is ACTIVE for event in self._events)

    @property
    def symptoms(self) -> Collection[str | None]:
        """The symptoms that were there at the start."""
        return self._by_symptom().keys()

    def of(self, symptoms: Collection[str], *, in_order: bool = True) -> list[Event]:
        """The active events of these symptoms; ``in_order`` across them, else symptom by symptom."""
        groups = self._by_symptom()
        named = sorted(groups.keys() & frozenset(symptoms), key=str)
        places: Iterable[int] = chain.from_iterable(map(groups.__getitem__, named))
        if in_order and len(named) > 1:
            places = sorted(places)
        return [event for event in map(self._events.__getitem__, places) if event.state is ACTIVE]

    def causes(self, symptom: str, scope: CascadeScope) -> Mapping[Hashable, Causes]:
        """The events of a symptom by place; see ``place_of``. Events that no place is known of are left out."""
        table = self._places.get((scope, symptom))
        if table is None:
            events = [self._events[place] for place in self._by_symptom().get(symptom, ())]
            table = self._places[scope, symptom] = _by_place(events, scope)
        return table

    def _active(self) -> list[Event]:
        return [event for event in self._events if event.state is ACTIVE]

    def _by_symptom(self) -> dict[str | None, list[int]]:
        if self._groups is None:
            groups: defaultdict[str | None, list[int]] = defaultdict(list)
            for place, symptom in enumerate(map(_symptom_of, self._events)):
                groups[symptom].append(place)
            self._groups = dict(groups)
        return self._groups


_symptom_of = attrgetter("symptom")


def _by_place(events: Sequence[Event], scope: CascadeScope) -> dict[Hashable, Causes]:
    if scope is CascadeScope.JOB:
        return {_EVERYWHERE: Causes(events)} if events else {}
    place = place_of(scope)
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


_EVERYWHERE = "job"


def _machine(event: Event) -> Hashable | None:
    node = event.node
    if node is None and event.source == Source.SYSLOG:
        return ("stream", event.stream)
    return node


def _device(event: Event) -> Hashable | None:
    machine = _machine(event)
    return None if machine is None or event.device is None else (machine, event.device)


def _rank(event: Event) -> Hashable | None:
    return event.rank


def _job(_event: Event) -> Hashable | None:
    return _EVERYWHERE


_PLACES: dict[CascadeScope, Callable[[Event], Hashable | None]] = {
    CascadeScope.JOB: _job,
    CascadeScope.NODE: _machine,
    CascadeScope.RANK: _rank,
    CascadeScope.DEVICE: _device,
}
