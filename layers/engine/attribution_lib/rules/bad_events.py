"""The bad events that a refiner looks at, by symptom and by the place where they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, overload

from attribution_lib.events.event import ACTIVE
from attribution_lib.events.ordered import merged
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

    Held by symptom, and indexed by place when first needed; the indexes serve all rules of a sub-phase, since an event
    that is out of the decision never comes back.
    """

    def __init__(self, lists: Iterable[list[Event]]) -> None:
        """``lists`` each alike in symptom and in event order."""
        found: defaultdict[str | None, list[list[Event]]] = defaultdict(list)
        for events in lists:
            found[events[0].symptom].append(events)
        self._groups = {symptom: merged(several) for symptom, several in found.items()}
        self._all: list[Event] | None = None
        """In order; made when first asked for, which few rules do."""
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
        return any(event.state is ACTIVE for events in self._groups.values() for event in events)

    @property
    def symptoms(self) -> Collection[str | None]:
        """The symptoms that were there at the start."""
        return self._groups.keys()

    def of(self, symptoms: Collection[str], *, in_order: bool = True) -> list[Event]:
        """The active events of these symptoms; ``in_order`` across them, else symptom by symptom."""
        named = sorted(self._groups.keys() & frozenset(symptoms), key=str)
        lists = [[event for event in self._groups[symptom] if event.state is ACTIVE] for symptom in named]
        return merged(lists) if in_order else list(chain.from_iterable(lists))

    def causes(self, symptom: str, scope: CascadeScope) -> Mapping[Hashable, Causes]:
        """The events of a symptom by place; see ``place_of``. Events that no place is known of are left out."""
        table = self._places.get((scope, symptom))
        if table is None:
            table = self._places[scope, symptom] = _by_place(self._groups.get(symptom, ()), scope)
        return table

    def _active(self) -> list[Event]:
        if self._all is None:
            self._all = merged(self._groups.values())
        return [event for event in self._all if event.state is ACTIVE]


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
