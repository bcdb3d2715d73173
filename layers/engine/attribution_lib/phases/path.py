"""Off the path: a fault on a node that has nothing to do with the failure is an alternative, not the root."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from attribution_lib.events.event import EventType
from attribution_lib.events.ordered import merged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["path_nodes"]

_FAILURE_RANK = 300
"""From this rank on a symptom is a sign of the failure (a consequence or a cause), not an echo or noise."""


def path_nodes(stream: EventStream, job: JobInfo, registry: GeneratedSymptomRegistry) -> frozenset[str]:
    """Nodes that bear the first failure, the scheduler's failed node, and peers that communication symptoms name.

    Times are compared where they exist; of streams without times each one's first failure counts, since nothing says
    which stream was earlier.
    """
    signs = {name for name in stream.symptoms() if registry.get(name).rank >= _FAILURE_RANK}
    failures = stream.lists(symptom=signs, type=EventType.BAD_NODE)
    firsts = _first_timed(failures) + _first_of_each_untimed_stream(failures)
    nodes = {event.node for event in firsts if event.node is not None}
    if job.failed_node is not None:
        nodes.add(job.failed_node)
    known: frozenset[str | None] = frozenset(job.nodes) or frozenset(
        event.node for events in failures for event in events
    )
    for events in (*stream.lists(type=EventType.BAD_PEERS), *failures):
        for event in [event for event in events if (text := event.text) is None or '"peer"' in text]:
            peer = event.payload.get("peer")
            if isinstance(peer, str) and peer in known:  # an address that nothing maps to a node says no place
                nodes.add(peer)
    return frozenset(nodes)


def _first_timed(failures: Iterable[list[Event]]) -> list[Event]:
    """Those of the earliest time."""
    earliest = min([at for events in failures if (at := events[0].timestamp) is not None], default=None)
    if earliest is None:
        return []
    return [event for events in failures for event in takewhile(lambda event: event.timestamp == earliest, events)]


def _first_of_each_untimed_stream(failures: Iterable[list[Event]]) -> list[Event]:
    untimed = merged([event for event in events if event.timestamp is None] for events in failures)
    firsts: dict[tuple[str, str], Event] = {}
    for event in untimed:
        firsts.setdefault((event.source, event.stream), event)
    return list(firsts.values())
