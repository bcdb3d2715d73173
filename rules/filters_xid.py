"""NVLink 5 Xids whose own line says "Nonfatal": when what followed on the GPU or its node says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import EventType, FilterContext, FilterPriority, Outcome, filter_def, outcomes

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event

AUTHOR = "attribution maintainers"
NONFATAL = "XIDNVLink5Nonfatal"


@filter_def(name="NonfatalXidStoppedChannels", author=AUTHOR, priority=FilterPriority.MID)
def raise_xids_that_stopped_channels(context: FilterContext) -> None:
    """An Xid that was printed as nonfatal counts once the driver stops channels `caused by previous Xid` of its code.

    Its own line is better evidence than the clean-up line that names it.
    """
    stream = context.event_stream
    mild: dict[tuple[str | None, ...], Event] = {}
    for event in stream.events(rule=NONFATAL):
        mild.setdefault((event.symptom, event.node, event.device), event)
    for named in [event for event in stream.bad(rules=["XIDReported"]) if event.payload.get("previous")]:
        first = mild.get((named.symptom, named.node, named.device))
        if first is not None and named.state == "active":
            raised = stream.emit(
                event_type=named.event_type,
                rule="NonfatalXidStoppedChannels",
                derived_from=first,
                symptom=named.symptom,
                payload=first.payload,
            )
            stream.discard(named, by="NonfatalXidStoppedChannels", explained_by=raised)


@filter_def(name="NonfatalXidOfLostNode", author=AUTHOR, priority=FilterPriority.MID)
def raise_xids_of_lost_nodes(context: FilterContext) -> None:
    """An NVLink Xid that was printed as nonfatal counts on a node that the scheduler lost under the same job.

    A reboot before it stays in the chain: who reads it may know that the node was taken down on purpose.
    """
    stream = context.event_stream
    lost = {event.node for event in stream.bad(context.registry.resolve([outcomes(Outcome.NODE_DOWN)]))}
    for mild in stream.events(type=EventType.INTERESTING_NODE, rule=NONFATAL) if lost else ():
        if mild.node is not None and mild.node in lost:
            raised = stream.emit(
                event_type=EventType.BAD_NODE,
                rule="NonfatalXidOfLostNode",
                derived_from=mild,
                symptom=mild.symptom,
                payload=mild.payload,
            )
            stream.discard(mild, by="NonfatalXidOfLostNode", explained_by=raised)
