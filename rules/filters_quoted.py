"""Words that only look like a failure: source code as a traceback shows it, and messages that somebody quotes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from common.application import AUTHOR
from common.machine_faults import SignsOfFaults

from attribution_lib.rule_api import EventType, FilterPriority, Outcome, Position, SubDomain, filter_def

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, EventStream, FilterContext, GeneratedSymptomRegistry

_CODE = re.compile(
    r"(?:^|[\]):>|] ?)\s{2,}(?:raise [A-Za-z_][\w.]*(?:\(|\s*$| from )|assert "
    r"|(?:self\.)?(?:log|logger|logging|warnings)\.\w+\(|print\(|f?[\"'][^\"']*[\"']?\s*[,)]?\s*$)"
)
"""A line of source code as a traceback quotes it, whatever prefix stands before it."""
_SPOKEN_OF = re.compile(
    r"(?:\bgrep\b[^'\"`]*|\b(?:search|look|check|scan|watch|grep)\w* (?:[\w./-]+ ){0,3}for"
    r"|\bsignatures?|\bpatterns?|\bregex|\byou (?:see|get|find|hit)|\b(?:such|known) as|\be\.g\.|\bfor example"
    r"|\bprintf?\(f?|\becho(?: -\w+)?)[ :=,]*['\"`]"
    r"|(?:->|=>|:) *(?:0|no) (?:match|hit|occurrence)|\bnot found in (?:the )?(?:dmesg|syslog|\w*log)\b",
    re.IGNORECASE,
)
"""A message in quotation marks behind a word of searching or advising, or a search that says that it found nothing."""
_SHOWN_AS_DATA = re.compile(
    r"^(?:(?!error|exception|fail|fatal)[^'\"`])*"
    r"\b(?:sample|example|prompt|question|answer|document|completion|response|instruction|passage|paragraph)s?"
    r"(?: ?(?:id|no\.?|number))?[ _#(\[]*[\d/]*[)\]]*\s*(?:[:=]|->|=>)\s*['\"`]",
    re.IGNORECASE,
)
"""Text that a program shows as its data, with no word of failure before it: `sample 17: "…`, `prompt[3] = '…`."""
_UPTIME = re.compile(r"^(?:\S{1,80}\s){0,4}?\[ *\d{1,9}\.\d{6}\] ")
"""The kernel's seconds since boot, whatever a launcher or a container's log puts before them."""
_SIGN_OF_FAILURE = 300
_OF_DRIVERS = (Outcome.GPU_DRIVER, Outcome.FABRIC_SOFTWARE, Outcome.HOST_OS, Outcome.APPLICATION_GPU_FAULT)
"""What drivers and kernels say beside faults of parts."""


@filter_def("QuotedSourceCode", AUTHOR, priority=FilterPriority.EARLY + 50)
def quoted_source_code(context: FilterContext) -> None:
    """A message inside a traceback's line of code is not the message itself: the next real line takes its place.

    `    raise IOError("image file is truncated "` stands two lines above the OSError that counts.
    """
    stream = context.event_stream
    lists = stream.lists(type=EventType.BAD_NODE, source="applog")
    shown = (event for events in lists for event in events if "  " in event.datum)
    _give_way(stream, shown, _CODE, by="QuotedSourceCode")


@filter_def("MessageSpokenOf", AUTHOR, priority=FilterPriority.EARLY + 60)
def message_spoken_of(context: FilterContext) -> None:
    """A program that searches a log for a message, or advises what to do about it, has not met it.

    `INFO preflight: grep dmesg for 'NVRM: Xid (PCI:0000:9a:00): 79' -> 0 matches` is said by healthy nodes.
    """
    stream = context.event_stream
    of_machines = [name for name in sorted(stream.symptoms() - {None}) if _is_of_a_machine(name, context.registry)]
    lists = stream.lists(type=EventType.BAD_NODE, symptom=of_machines, source="applog")
    _give_way(stream, (event for events in lists for event in events), _SPOKEN_OF, by="MessageSpokenOf")


@filter_def("MessageInData", AUTHOR, priority=FilterPriority.EARLY + 55)
def message_in_data(context: FilterContext) -> None:
    """A message inside a sample that a program shows of its data is somebody else's, of another day.

    `sample 17: "kernel: NVRM: Xid (PCI:0000:17:00): 79, …"` is what a model learns from.
    """
    stream = context.event_stream
    lists = stream.lists(type=EventType.BAD_NODE, source="applog")
    shown = (event for events in lists for event in events if _quotes(event.datum))
    _give_way(stream, shown, _SHOWN_AS_DATA, by="MessageInData")


def _quotes(text: str) -> bool:
    return '"' in text or "'" in text or "`" in text


@filter_def("KernelMessageFromBefore", AUTHOR, priority=FilterPriority.EARLY + 70)
def kernel_message_from_before(context: FilterContext) -> None:
    """What a job's script shows of the kernel's log before anything ran may be as old as the node's last boot.

    `dmesg | tail` gives seconds since boot, which nothing places in the job's window: a hint. It counts where the
    program met a fault of a GPU or host itself, and where the message came after a step or a failure of the program,
    as it does when the kernel's log runs along or is shown at the end. A stream of nothing else is the kernel's log.
    """
    stream = context.event_stream
    if stream.lists(type=EventType.BOOT):
        return
    lists = stream.lists(type=EventType.BAD_NODE, source="applog")
    shown = [event for events in lists for event in events if "] " in event.datum and _UPTIME.match(event.datum)]
    if not shown or SignsOfFaults(stream, context.registry).direct_beside(shown):
        return
    begun, programs = _programs(stream, context.registry)
    early = [
        event
        for event in shown
        if event.stream in programs and (event.last.line_num or 0) < begun.get(event.stream, math.inf)
    ]
    stream.demote_all(early, by="KernelMessageFromBefore")


def _programs(stream: EventStream, registry: GeneratedSymptomRegistry) -> tuple[dict[str, int], set[str]]:
    """{stream: the line of its first step or failure}, and the streams in which a program speaks at all."""
    begun: dict[str, int] = {}
    programs: set[str] = set()
    for events in stream.lists(source="applog"):
        for event in events:
            if _UPTIME.match(event.datum):
                continue
            programs.add(event.stream)
            failed = event.symptom is not None and registry.get(event.symptom).rank >= _SIGN_OF_FAILURE
            bad = failed and event.event_type == EventType.BAD_NODE
            if bad or event.payload.get("kind") == "progress":
                line = event.first.line_num or 0
                begun[event.stream] = min(line, begun.get(event.stream, line))
    return begun, programs


def _is_of_a_machine(symptom: str, registry: GeneratedSymptomRegistry) -> bool:
    return registry.sub_domain(symptom) is SubDomain.HARDWARE or registry.get(symptom).outcome in _OF_DRIVERS


def _give_way(stream: EventStream, events: Iterable[Event], quoting: re.Pattern[str], *, by: str) -> None:
    """Events whose line only quotes give way to the first of their lines that does not, if there is one."""
    moved = []
    for event in [event for event in events if quoting.search(event.datum)]:
        real = next((index for index, sample in enumerate(event.samples) if not quoting.search(sample.datum)), None)
        if real is None:
            stream.demote(event, by=by)
            continue
        there = _at(event, real)
        stream.discard(event, by=by, explained_by=there)
        moved.append(there)
    stream.add_all(moved)


def _at(event: Event, index: int) -> Event:
    """The event as it stands at another of its sample lines."""
    sample = event.samples[index]
    return replace(
        event,
        timestamp=sample.timestamp,
        stream=sample.stream,
        line_num=sample.line_num,
        datum=sample.datum,
        first=Position(sample.timestamp, sample.stream, sample.line_num),
        context_before=(),
        context_after=(),
        derived_from=event.rule,
    )
