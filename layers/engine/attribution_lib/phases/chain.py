"""The story of a failure: symptoms in time order, folded so that ten thousand nodes still read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventState, EventType
from attribution_lib.events.stream import event_order
from attribution_lib.phases.early import OUTSIDE_WINDOW, STAGED
from attribution_lib.phases.times import rfc3339
from attribution_lib.verdict import ChainRow, SymptomRow, SymptomState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

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

    head: Event
    """The first in order."""
    root: Event | None
    """The root cause, where it is one of them."""
    state: SymptomState
    nodes: Collection[str]
    ranks: int
    occurrences: int
    first: int | None
    last: int | None


_Fate = tuple[str | None, str, EventState, str, str | None, str | None]
"""Symptom, source, state, type, who changed it, the symptom that explains it."""


def story(stream: EventStream, root: Event | None) -> list[Telling]:
    """Everything with a symptom that lies inside the window and was not merely staged, in the order of first sight."""
    groups: dict[_Fate, list[Sequence[Event]]] = {}
    for events in stream.lists(active=False):
        if events[0].symptom is not None and events[0].event_type in _SHOWN:
            for fate, alike in _by_fate(events).items():
                if fate[4] not in (OUTSIDE_WINDOW, STAGED):
                    groups.setdefault(fate, []).append(alike)
    of_root = _fate(root) if root is not None and root.symptom is not None else None
    if root is not None and of_root is not None:
        lists = groups.setdefault(of_root, [])
        if not any(root in events for events in lists):
            lists.append([root])
    told = [
        _telling(lists, root, holds_root=fate == of_root) for fate, lists in groups.items() if not _said(fate, groups)
    ]
    return sorted(told, key=lambda one: event_order(one.head))


def _said(fate: _Fate, groups: Collection[_Fate]) -> bool:
    """Whether this is the scheduler's state, and the ending that follows from it is told under the same name."""
    symptom, source, state, event_type, *rest = fate
    state_only = event_type == EventType.SCHEDULER_STATE
    return state_only and (symptom, source, state, EventType.JOB_STOP.value, *rest) in groups


def _by_fate(events: Sequence[Event]) -> Mapping[_Fate, Sequence[Event]]:
    if set(map(_state_of, events)) == {EventState.ACTIVE}:
        return {_fate(events[0]): events}  # what nobody changed has no fate of its own
    groups: defaultdict[tuple[str | None, ...], list[Event]] = defaultdict(list)
    for event in events:
        by = event.explained_by
        groups[event.state, event.changed_by, None if by is None else by[0]].append(event)
    return {_fate(alike[0]): alike for alike in groups.values()}


def _fate(event: Event) -> _Fate:
    by = event.explained_by
    explained = None if by is None else by[0]
    return event.symptom, event.source, event.state, event.event_type, event.changed_by, explained


_state_of = attrgetter("state")


def _telling(lists: Sequence[Sequence[Event]], root: Event | None, *, holds_root: bool) -> Telling:
    """Of groups that are alike, each in order."""
    head = min((events[0] for events in lists), key=event_order)
    nodes: set[str | None] = set()
    ranks: set[int | None] = set()
    occurrences, first, last = 0, inf, -inf
    for event in chain.from_iterable(lists):  # once: to fetch each of many again costs more than what is done with it
        nodes.add(event.node)
        ranks.add(event.rank)
        occurrences += event.occurrences
        began, ended = event.first[0], event.last[0]
        if began is not None and began < first:
            first = began
        if ended is not None and ended > last:
            last = ended
    return Telling(
        head=head,
        root=root if holds_root else None,
        state=_state(head, root),
        nodes=[name for name in nodes if name is not None],
        ranks=len(ranks - {None}),
        occurrences=occurrences,
        first=None if first == inf else int(first),
        last=None if last == -inf else int(last),
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
    return SymptomRow(
        symptom=head.symptom or "",
        source=head.source,
        state=told.state,
        occurrences=told.occurrences,
        nodes=len(told.nodes),
        node_list=nsmallest(NODE_LIST_LIMIT, told.nodes),
        ranks=told.ranks,
        first_seen=rfc3339(told.first),
        last_seen=rfc3339(told.last),
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
    head = told.root or told.head
    return ChainRow(
        at=rfc3339(head.first.timestamp),
        node=head.node,
        nodes=len(told.nodes),
        rank=head.rank,
        ranks=told.ranks,
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
