"""Which evidence would decide, were it there: the rules say what and why, this fills in nodes and times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.observation import Source
from attribution_lib.phases.times import rfc3339
from attribution_lib.rules.needed import Place, needs_of
from attribution_lib.taxonomy import Confidence, SubDomain, sub_domain_of
from attribution_lib.verdict import NeededEvidence

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.contexts import OutcomeChoice
    from attribution_lib.rules.needed import NeededDef

__all__ = ["needed_evidence"]

_UNDECIDED = (SubDomain.AMBIGUOUS, SubDomain.UNATTRIBUTED)
_OF_NODES = (Source.SYSLOG, Source.NODE_METRICS)
"""Sources that are asked for node by node when several are suspects."""
_NODES_ASKED = 4
_MICROSECONDS = 1_000_000


def needed_evidence(
    declared: Sequence[NeededDef],
    stream: EventStream,
    job: JobInfo,
    choice: OutcomeChoice,
    read: Mapping[str, Collection[str]],
) -> list[NeededEvidence]:
    """For an undecided verdict, one of low confidence and what a rule asks for: what was not ``read``.

    ``read`` is {source: the streams of it}. Rows name the nodes that matter and the time around the root symptom where
    these are known, else the whole run. Of a source that was read, those of the nodes in sight are asked for of which
    it told nothing.
    """
    undecided = sub_domain_of(choice.outcome) in _UNDECIDED or choice.confidence is Confidence.LOW
    root = choice.root
    rows = []
    for needed in needs_of(declared, root.symptom if root is not None else None, choice.outcome):
        if not undecided and needed.source not in choice.wanted:
            continue
        if needed.source.value not in read:
            rows += [_row(needed, node, needed.why, job, root) for node in _nodes(needed, stream, job, choice)]
        elif needed.rest:
            unheard = _unheard(needed.source, stream, job, choice)
            missing = [node for node in unheard if not _names(read[needed.source.value], node)]
            rows += [_row(needed, node, needed.rest, job, root) for node in missing[:_NODES_ASKED]]
    return rows


def _row(needed: NeededDef, node: str | None, why: str, job: JobInfo, root: Event | None) -> NeededEvidence:
    start, end = _window(needed, job, root)
    source = needed.source.value
    return NeededEvidence(source=source, node=node, **{"from": rfc3339(start)}, to=rfc3339(end), why=why)


def _nodes(needed: NeededDef, stream: EventStream, job: JobInfo, choice: OutcomeChoice) -> list[str | None]:
    """The nodes to ask about; None: all nodes of the job."""
    if needed.source in _OF_NODES and choice.suspects:
        return list(choice.suspects[:_NODES_ASKED])
    bearer = choice.root.node if choice.root is not None else None
    if len(job.nodes) == 1:
        return [bearer or job.failed_node]
    match needed.place:
        case Place.SYMPTOM:
            return [bearer or job.failed_node]
        case Place.PEERS:
            ends = _within(job, {*([bearer] if bearer else []), *_peers(stream, choice)})
            return list(ends[:_NODES_ASKED]) if len(ends) > 1 else [job.failed_node]
        case Place.ALL:
            return [job.failed_node]


def _unheard(source: Source, stream: EventStream, job: JobInfo, choice: OutcomeChoice) -> list[str]:
    """Nodes in sight of which no event of this source tells, where it names some node: its lines say where they are."""
    heard = {event.node for events in stream.lists(source=source, active=False) for event in events if event.node}
    if not heard:
        return []
    root = choice.root
    in_sight = {*choice.suspects, *_peers(stream, choice)}
    in_sight.update(node for node in (job.failed_node, root.node if root is not None else None) if node)
    return [node for node in _within(job, in_sight) if node not in heard]


def _names(streams: Collection[str], node: str) -> bool:
    """Whether some stream is that node's by its name: of a quiet one no event tells."""
    name = re.compile(rf"(?<![\w-]){re.escape(node)}(?![\w-])")
    return any(map(name.search, streams))


def _peers(stream: EventStream, choice: OutcomeChoice) -> set[str]:
    """Whom the root symptom's own events name as their peers."""
    root = choice.root
    if root is None or root.symptom is None:
        return set()
    events = stream.events(symptom=root.symptom, type=EventType.BAD_NODE)
    peers = (event.payload.get("peer") for event in events if event.text is None or '"peer"' in event.text)
    return {peer for peer in peers if isinstance(peer, str)}


def _within(job: JobInfo, nodes: Collection[str]) -> list[str]:
    """Those of the job, as far as its nodes are known, in order."""
    return sorted(node for node in nodes if not job.nodes or node in job.nodes)


def _window(needed: NeededDef, job: JobInfo, root: Event | None) -> tuple[int | None, int | None]:
    """When to look, in µs: about the root symptom, within the run."""
    first = root.first.timestamp if root is not None else None
    if first is None:
        return job.start, job.end
    start, end = first - needed.before * _MICROSECONDS, first + needed.after * _MICROSECONDS
    return (
        start if job.start is None or job.start > first else max(start, job.start),
        end if job.end is None or job.end < first else min(end, job.end),
    )
