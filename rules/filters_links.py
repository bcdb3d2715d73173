"""Links that many nodes of a job lose at once: what they have in common is the suspect, not each of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from attribution_lib.rule_api import (
    Confidence,
    FilterPriority,
    Outcome,
    RefinerPriority,
    filter_def,
    outcomes,
    refiner_def,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, FilterContext, RefinerContext

AUTHOR = "attribution maintainers"
LOST_TOGETHER = "Links of many nodes lost together"
LOSSES = (
    "Ethernet link down",
    "IB link losses (metric)",
    "IB port error",
    "InfiniBand link down",
    "Network link flapping",
    "Network link lost (metric)",
)
_MANY_NODES = 3
_TOGETHER = 60_000_000
"""Kernels print a loss within seconds; a metric shows it at its next sample."""


@filter_def("LinksLostTogether", AUTHOR, priority=FilterPriority.LATE)
def links_lost_together(context: FilterContext) -> None:
    """Links that three or more nodes, and most of the job's, lose within a minute hang on one switch or fabric.

    Nobody's cable, transceiver and adapter fail together: the nodes stay interesting, none of them is bad. A node that
    its operators take down loses its links for that reason and does not count.
    """
    stream = context.event_stream
    losses = [event for event in stream.bad(LOSSES) if event.node is not None]
    if len({event.node for event in losses}) < _MANY_NODES:
        return
    taken = {event.node for event in stream.bad(context.registry.resolve([outcomes(Outcome.MAINTENANCE)]))}
    together = _together(event for event in losses if event.node not in taken)
    nodes = frozenset(context.job.nodes) or frozenset(event.node for event in stream if event.node is not None)
    if len({event.node for event in together}) < max(_MANY_NODES, len(nodes) // 2 + 1):
        return
    by = "LinksLostTogether"
    found = [replace(event, rule=by, symptom=LOST_TOGETHER, derived_from=event.rule) for event in together]
    for event, lost in zip(together, found, strict=True):
        stream.discard(event, by=by, explained_by=lost)
    stream.add_all(found)


@refiner_def("SwitchOrFabric", AUTHOR, priority=RefinerPriority.POST_OUTCOME, symptoms=[LOST_TOGETHER])
def switch_or_fabric(context: RefinerContext) -> None:
    """What the links hang on broke, was restarted or was reconfigured: no line says which, so the outcome is open."""
    choice = context.choice
    if choice is not None and choice.root is not None and choice.root.symptom == LOST_TOGETHER:
        reason = "no line says what the links hang on, a switch or a fabric, and what became of it"
        context.set_outcome(Outcome.AMBIGUOUS, reason)
        choice.lower(Confidence.LOW, reason)


def _together(losses: Iterable[Event]) -> list[Event]:
    """Those within the minute that has losses on the most nodes; of several such minutes the first."""
    timed = sorted(
        ((event.first.timestamp, event) for event in losses if event.first.timestamp is not None), key=itemgetter(0)
    )
    most, begun = 0, 0
    on: Counter[str | None] = Counter()
    start = 0
    for at, event in timed:
        on[event.node] += 1
        while at - timed[start][0] > _TOGETHER:
            gone = timed[start][1].node
            on[gone] -= 1
            if not on[gone]:
                del on[gone]
            start += 1
        if len(on) > most:
            most, begun = len(on), timed[start][0]
    return [event for at, event in timed if begun <= at <= begun + _TOGETHER]
