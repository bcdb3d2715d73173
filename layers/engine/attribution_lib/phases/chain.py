"""The story of a failure: symptoms in time order, folded so that ten thousand nodes still read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.events.event import EventState, EventType
from attribution_lib.events.stream import event_order
from attribution_lib.phases.early import OUTSIDE_WINDOW, STAGED
from attribution_lib.phases.times import rfc3339
from attribution_lib.verdict import ChainRow, SymptomRow, SymptomState

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream

__all__ = ["CHAIN_LIMIT", "chain_rows", "symptom_rows"]

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


def _story(stream: EventStream, root: Event | None) -> list[Event]:
    """Everything with a symptom that lies inside the window and was not merely staged."""
    events = [
        event
        for event in stream
        if event.symptom is not None and event.event_type in _SHOWN and event.changed_by not in (OUTSIDE_WINDOW, STAGED)
    ]
    if root is not None and root.symptom is not None and not any(event is root for event in events):
        events = sorted([*events, root], key=event_order)
    return events


def _state(event: Event, root: Event | None) -> SymptomState:
    if root is not None and event.state is not EventState.DISCARDED:
        same = event.symptom == root.symptom and event.event_type == root.event_type
        if event is root or same:
            return "root"
    if event.state is EventState.DISCARDED:
        return "discarded"
    return "demoted" if event.state is EventState.DEMOTED else "remaining"


def symptom_rows(stream: EventStream, root: Event | None) -> list[SymptomRow]:
    """One row per symptom, source and fate, in the order of their first sight."""
    return [_symptom_row(group, root) for group in _grouped(stream, root)]


def _symptom_row(group: list[Event], root: Event | None) -> SymptomRow:
    nodes = sorted({event.node for event in group if event.node is not None})
    head = group[0]
    firsts = [event.first.timestamp for event in group if event.first.timestamp is not None]
    lasts = [event.last.timestamp for event in group if event.last.timestamp is not None]
    return SymptomRow(
        symptom=head.symptom or "",
        source=head.source,
        state=_state(head, root),
        occurrences=sum(event.occurrences for event in group),
        nodes=len(nodes),
        node_list=nodes[:NODE_LIST_LIMIT],
        ranks=len({event.rank for event in group if event.rank is not None}),
        first_seen=rfc3339(min(firsts, default=None)),
        last_seen=rfc3339(max(lasts, default=None)),
        changed_by=head.changed_by,
        explained_by=head.explained_by.symptom if head.explained_by else None,
        rule=head.rule,
    )


def chain_rows(stream: EventStream, root: Event | None) -> list[ChainRow]:
    """At most ``CHAIN_LIMIT`` steps in time order; the root is always among them."""
    rows = [_chain_row(group, root) for group in _grouped(stream, root)]
    if len(rows) <= CHAIN_LIMIT:
        return rows
    kept = sorted(range(len(rows)), key=lambda index: (rows[index].state != "root", index))[:CHAIN_LIMIT]
    return [rows[index] for index in sorted(kept)]


def _chain_row(group: list[Event], root: Event | None) -> ChainRow:
    head = root if root is not None and any(event is root for event in group) else group[0]
    nodes = {event.node for event in group if event.node is not None}
    return ChainRow(
        at=rfc3339(head.first.timestamp),
        node=head.node,
        nodes=len(nodes),
        rank=head.rank,
        symptom=head.symptom or "",
        state=_state(head, root),
        explained_by=head.explained_by.symptom if head.explained_by else None,
        rule=head.rule,
        source=head.source,
        stream=head.stream,
        line_num=head.line_num,
        evidence=head.datum[:_EVIDENCE_LIMIT],
        occurrences=sum(event.occurrences for event in group),
    )


def _grouped(stream: EventStream, root: Event | None) -> Iterable[list[Event]]:
    groups: dict[Hashable, list[Event]] = {}
    for event in _story(stream, root):
        explained_by = event.explained_by.symptom if event.explained_by else None
        key = (event.symptom, event.source, _state(event, root), event.event_type, event.changed_by, explained_by)
        groups.setdefault(key, []).append(event)
    return groups.values()
