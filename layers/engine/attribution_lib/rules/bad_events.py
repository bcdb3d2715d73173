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
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator

    from attribution_lib.events.event import Event
    from attribution_lib.rules.causes import TimeRule

__all__ = ["BadEvents", "CascadeScope", "PlacedCauses"]


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
        self._places: dict[tuple[CascadeScope, str], PlacedCauses] = {}

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

    def causes(self, symptom: str, scope: CascadeScope) -> PlacedCauses:
        """The events of a symptom by place; see ``place_of``. Events that no place is known of are left out."""
        table = self._places.get((scope, symptom))
        if table is None:
            table = self._places[scope, symptom] = PlacedCauses(self._groups.get(symptom, []), scope)
        return table

    def _active(self) -> list[Event]:
        if self._all is None:
            self._all = merged(self._groups.values())
        return [event for event in self._all if event.state is ACTIVE]


class PlacedCauses:
    """The events of one symptom, asked for the first in some place that explains another event."""

    __slots__ = ("_causes", "_events")

    def __init__(self, events: list[Event], scope: CascadeScope) -> None:
        """``events`` in event order."""
        self._events: defaultdict[Hashable, list[Event]] = defaultdict(list)
        self._causes: dict[Hashable, Causes] = {}
        """Made where one is asked for: most places of a large job have a single event of a symptom."""
        if scope is CascadeScope.JOB:
            self._events[_EVERYWHERE] = events
            return
        for where, event in zip(map(place_of(scope), events), events, strict=True):
            self._events[where].append(event)
        self._events.pop(None, None)

    def first_for(self, event: Event, where: Hashable | None, rule: TimeRule) -> tuple[Event, bool] | None:
        """The first active cause in a place that explains an event, and whether it surely came in time."""
        found = self._events.get(where)
        if not found:
            return None
        if len(found) == 1:
            certain = rule.explains(found[0], event) if found[0].state is ACTIVE else None
            return None if certain is None else (found[0], certain)
        causes = self._causes.get(where)
        if causes is None:
            causes = self._causes[where] = Causes(found)
        return causes.first_for(event, rule)

    def in_order_of_start(self) -> bool:
        """Whether all events stand at the time at which they started: rows that show their last occurrence do not."""
        return all(
            event.timestamp is not None and event.timestamp == event.first[0]
            for events in self._events.values()
            for event in events
        )


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
