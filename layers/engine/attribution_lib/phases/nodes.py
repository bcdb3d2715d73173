"""Which nodes to name: those that bear the root symptom, and those that only showed something."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.phases.times import rfc3339
from attribution_lib.verdict import BadNode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo

__all__ = ["BlamedNodes", "bad_nodes", "interesting_nodes"]


@dataclass(slots=True)
class _Sightings:
    symptoms: set[str] = field(default_factory=set)
    occurrences: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, event: Event) -> None:
        self.symptoms.add(event.symptom or event.event_type)
        self.occurrences += event.occurrences
        first, last = event.first[0], event.last[0]
        if first is not None and (self.first is None or first < self.first):
            self.first = first
        if last is not None and (self.last is None or last > self.last):
            self.last = last

    def row(self, node: str, why: str) -> BadNode:
        return BadNode(
            node=node,
            symptoms=sorted(self.symptoms),
            occurrences=self.occurrences,
            first_seen=rfc3339(self.first),
            last_seen=rfc3339(self.last),
            why=why,
        )


@dataclass(frozen=True, slots=True)
class BlamedNodes:
    """All nodes to blame by name, and the rows of the first of them: a row costs, and a verdict shows only so many."""

    names: Sequence[str] = ()
    rows: Sequence[BadNode] = ()


def bad_nodes(  # noqa: PLR0913 -- keyword-only but for the two that every phase has
    stream: EventStream, job: JobInfo, *, symptom: str | None, suspects: Sequence[str], reason: str, limit: int
) -> BlamedNodes:
    """The nodes of the job that bear ``symptom`` (or are ``suspects``), with what was seen on the first ``limit``."""
    inside = frozenset(job.nodes)
    bearing = [] if symptom is None else stream.lists(symptom=symptom, type=EventType.BAD_NODE)
    names = set(suspects) if symptom is None else _nodes_of(bearing)
    named = sorted([node for node in names if not inside or node in inside])
    shown = named[:limit]
    wanted = frozenset(shown)
    sightings = _collect(stream.lists(type=EventType.BAD_NODE), wanted)
    why = f"{reason}: {symptom}" if symptom else reason
    return BlamedNodes(named, [sightings.get(node, _Sightings()).row(node, why) for node in shown])


def interesting_nodes(stream: EventStream, blamed: Collection[str], limit: int) -> list[BadNode]:
    """The first ``limit`` of the other nodes on which a bad or interesting event survived."""
    lists = [*stream.lists(type=EventType.BAD_NODE), *stream.lists(type=EventType.INTERESTING_NODE)]
    shown = nsmallest(limit, _nodes_of(lists).difference(blamed))
    rows = _collect(lists, frozenset(shown))
    return [rows[node].row(node, "symptoms here decided nothing") for node in shown]


def _nodes_of(lists: Iterable[Iterable[Event]]) -> set[str]:
    names: set[str | None] = set()
    for events in lists:
        names.update(map(_node_of, events))
    return {name for name in names if name is not None}


def _collect(lists: Iterable[Iterable[Event]], wanted: Collection[str]) -> dict[str, _Sightings]:
    found: defaultdict[str, _Sightings] = defaultdict(_Sightings)
    for events in lists if wanted else ():
        for event in [event for event in events if event.node in wanted]:
            found[event.node or ""].add(event)
    return found


_node_of = attrgetter("node")
