"""Filters over application evidence: failures that were dealt with, and tools that nobody needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from common.application import AUTHOR
from common.evidence import by_line, lines_of

from attribution_lib.rule_api import EventType, FilterPriority, StateClass, filter_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event, FilterContext

_CONTENDER = 400
_STOPPED = frozenset({StateClass.CANCELLED, StateClass.TIMEOUT, StateClass.PREEMPTED, StateClass.COMPLETED})
_HANDLED = re.compile(
    r"(?i:\bfall(?:ing|s)? ?back (?:to|on)\b|\bskipping (?:this |the |corrupt\w* |bad )?(?:batch|sample"
    r"|step|item|file|record|image|video|example|shard|row|update)"
    r"|\bstarting (?:training )?from scratch\b|\bretrying\b|\bwill retry\b"
    r"|can (?:safely )?(?:be ignored|ignore this)|\bis not a failure\b|\btrying to resume download"
    r"|\bpool will not be available\b|\bwill be ignored\b|\bcontinu(?:e|ing) without\b)"
)
"""What a program says of a failure on the very line on which it deals with it."""
_TOTAL = re.compile(r"total capaci?ty of (\d+(?:\.\d+)?) (\w+)")
_OWN = re.compile(r"this process has (\d+(?:\.\d+)?) (\w+) memory in use")
_OTHER = re.compile(r"\bProcess \d+ has (\d+(?:\.\d+)?) (\w+) memory in use")
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_REQUEST = re.compile(r"\bERROR [\d-]+ [\d:]+ \[(?:[\w/]+/)?serving(?:_\w+)?\.py:\d+\]")
"""The part of vLLM's server that answers requests: it reports the exception to whoever asked, and serves the next."""


@filter_def("HandledOnItsOwnLine", AUTHOR, priority=FilterPriority.EARLY + 220)
def handled_on_its_own_line(context: FilterContext) -> None:
    """A failure of which its own line says that it is tried again, skipped or worked around gives way to any other.

    So does the failure of one request to a server. Where nothing else is left it stays: what was tried again may have
    ended the job all the same.
    """
    stream = context.event_stream
    contenders = [
        name
        for name in sorted(stream.symptoms() - {None})
        if (symptom := context.registry.get(name)).root and symptom.rank >= _CONTENDER
    ]
    lists = stream.lists(type=EventType.BAD_NODE, symptom=contenders, source="applog")
    handled = [event for events in lists for event in events if _says(_HANDLED, event) or _says(_REQUEST, event)]
    requests = [event for event in handled if _says(_REQUEST, event)]
    if handled and sum(len(stream.bad([name])) for name in contenders) > len(handled):
        stream.demote_all(handled, by="HandledOnItsOwnLine")
    elif requests and context.job.state_class in _STOPPED:
        stream.demote_all(requests, by="HandledOnItsOwnLine")


def _says(pattern: re.Pattern[str], event: Event) -> bool:
    """Whether every line that the event is known by has it."""
    return all(pattern.search(datum) for datum in (event.datum, *(sample.datum for sample in event.samples)))


@filter_def("GpuHeldByAnotherProcess", AUTHOR, priority=FilterPriority.EARLY + 205)
def gpu_held_by_another_process(context: FilterContext) -> None:
    """The allocator lists who holds the GPU: where one other process has most of it, the demand was not the program's.

    Many that have a little each are the ranks of one job on one GPU.
    """
    stream = context.event_stream
    lists = stream.lists(type=EventType.BAD_NODE, symptom="CUDA out of memory", source="applog")
    told = [event for events in lists for event in events if _OWN.search(event.datum)]
    for event in told:
        if all(_another_holds_most(datum) for datum in (event.datum, *(sample.datum for sample in event.samples))):
            held = stream.emit(
                event_type=event.event_type,
                rule="GpuHeldByAnotherProcess",
                derived_from=event,
                symptom="GPU memory held by another process",
                payload=event.payload,
            )
            stream.discard(event, by="GpuHeldByAnotherProcess", explained_by=held)


def _another_holds_most(line: str) -> bool:
    total, own = _TOTAL.search(line), _OWN.search(line)
    if total is None or own is None:
        return False
    others = max((_bytes(found) for found in _OTHER.finditer(line)), default=0.0)
    return others > _bytes(own) and 2 * others > _bytes(total)


def _bytes(found: re.Match[str]) -> float:
    return float(found[1]) * _UNITS.get(found[2], 1)


@filter_def("OptionalProgramMissing", AUTHOR, priority=FilterPriority.EARLY + 230)
def optional_program_missing(context: FilterContext) -> None:
    """That a library did without a tool is no failed command of the script, however the shell words it.

    `Pyspy failed to dump PID 11. Error: /bin/bash: line 1: py-spy: command not found`
    """
    stream = context.event_stream
    optional = by_line(stream.events(symptom="Optional program not found", type=EventType.INTERESTING_NODE))
    for event in stream.bad(["Job script command failed", "Program or script not found"]) if optional else ():
        if all(line in optional for line in lines_of(event)):
            explained = optional[lines_of(event)[0]]
            stream.discard(event, by="OptionalProgramMissing", explained_by=explained)
