"""The story of a failure: symptoms in time order, folded so that ten thousand nodes still read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventState, EventType
from attribution_lib.events.stream import event_order
from attribution_lib.phases.early import OUTSIDE_WINDOW, STAGED
from attribution_lib.phases.times import rfc3339
from attribution_lib.verdict import ChainRow, SymptomRow, SymptomState

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream

__all__ = ["CHAIN_LIMIT", "Telling", "chain_rows", "story", "symptom_rows"]

CHAIN_LIMIT = 500
NODE_LIST_LIMIT = 32
_EVIDENCE_LIMIT = 1_000
_SHOWN = frozenset(
    {
        EventType.BAD_NODE,
        EventType.INTERESTING_NODE,
        EventType.BAD_PEERS,
        EventType.JOB_STOP,
        EventType.SCHEDULER_STATE,
    }
)


@dataclass(frozen=True, slots=True)
class Telling:
    """What the verdict tells of a group of events that are alike in symptom, source and fate."""

    events: Sequence[Event]
    """In order."""
    head: Event
    state: SymptomState
    nodes: Collection[str]
    occurrences: int


def story(stream: EventStream, root: Event | None) -> list[Telling]:
    """Everything with a symptom that lies inside the window and was not merely staged, in the order of first sight."""
    groups = [group for group in _grouped(stream) if _is_shown(group[0])]
    if root is not None and root.symptom is not None and not any(root in group for group in groups):
        groups = list(_grouped(sorted([*(event for group in groups for event in group), root], key=event_order)))
    return [_telling(group, root) for group in groups]


def _is_shown(event: Event) -> bool:
    shown = event.symptom is not None and event.event_type in _SHOWN
    return shown and event.changed_by not in (OUTSIDE_WINDOW, STAGED)


def _grouped(events: Iterable[Event]) -> Iterable[list[Event]]:
    found = list(events)
    groups: defaultdict[Hashable, list[Event]] = defaultdict(list)
    explaining = [None if by is None else by[0] for by in map(_explained_by, found)]
    keys = zip(*(map(part, found) for part in _FATE), explaining, strict=True)
    for key, event in zip(keys, found, strict=True):
        groups[key].append(event)
    return groups.values()


_explained_by = attrgetter("explained_by")
_FATE = tuple(map(attrgetter, ("symptom", "source", "state", "event_type", "changed_by")))
_place, _rank, _occurrences = attrgetter("node"), attrgetter("rank"), attrgetter("occurrences")


def _telling(events: list[Event], root: Event | None) -> Telling:
    return Telling(
        events=events,
        head=events[0],
        state=_state(events[0], root),
        nodes=set(map(_place, events)) - {None},
        occurrences=sum(map(_occurrences, events)),
    )


def _state(event: Event, root: Event | None) -> SymptomState:
    if root is not None and event.state is not EventState.DISCARDED:
        same = event.symptom == root.symptom and event.event_type == root.event_type
        if event is root or same:
            return "root"
    if event.state is EventState.DISCARDED:
        return "discarded"
    return "demoted" if event.state is EventState.DEMOTED else "remaining"


def symptom_rows(told: Iterable[Telling]) -> list[SymptomRow]:
    """One row per symptom, source and fate, in the order of their first sight."""
    return [_symptom_row(one) for one in told]


def _symptom_row(told: Telling) -> SymptomRow:
    head = told.head
    firsts = [at for event in told.events if (at := event.first[0]) is not None]
    lasts = [at for event in told.events if (at := event.last[0]) is not None]
    return SymptomRow(
        symptom=head.symptom or "",
        source=head.source,
        state=told.state,
        occurrences=told.occurrences,
        nodes=len(told.nodes),
        node_list=nsmallest(NODE_LIST_LIMIT, told.nodes),
        ranks=len(set(map(_rank, told.events)) - {None}),
        first_seen=rfc3339(min(firsts, default=None)),
        last_seen=rfc3339(max(lasts, default=None)),
        changed_by=head.changed_by,
        explained_by=head.explained_by.symptom if head.explained_by else None,
        rule=head.rule,
    )


def chain_rows(told: Iterable[Telling], root: Event | None) -> list[ChainRow]:
    """At most ``CHAIN_LIMIT`` steps in time order; the root is always among them."""
    rows = [_chain_row(one, root) for one in told]
    if len(rows) <= CHAIN_LIMIT:
        return rows
    kept = sorted(range(len(rows)), key=lambda index: (rows[index].state != "root", index))[:CHAIN_LIMIT]
    return [rows[index] for index in sorted(kept)]


def _chain_row(told: Telling, root: Event | None) -> ChainRow:
    head = root if root is not None and root in told.events else told.head
    return ChainRow(
        at=rfc3339(head.first.timestamp),
        node=head.node,
        nodes=len(told.nodes),
        rank=head.rank,
        symptom=head.symptom or "",
        state=_state(head, root),
        explained_by=head.explained_by.symptom if head.explained_by else None,
        rule=head.rule,
        source=head.source,
        stream=head.stream,
        line_num=head.line_num,
        evidence=head.datum[:_EVIDENCE_LIMIT],
        occurrences=told.occurrences,
    )
