"""Filters over communication evidence: one line told twice, warnings, and what two lines prove together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.evidence import by_line, definition_of, follows, lines_of, ranks_in, rules_called, rules_of

from attribution_lib.rule_api import EventType, FilterPriority, Outcome, filter_def, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rule_api import Event, EventStream, FilterContext

AUTHOR = "attribution maintainers"
PROVEN_TOGETHER = "ProvenTogether"
ERRNO_READERS = frozenset({"FileErrno", "SharedMemoryFile", "TransientNetworkError", "CppException"})
"""Definitions that read an errno or a wrapper, whatever it is about."""
LIBRARIES = ("Nccl", "Ib", "Gloo", "Horovod", "Mpi", "ProcessGroup", "Store", "Ucx", "Watchdog")
"""How the rules over what communication libraries print are called."""
WARNINGS = ("Connection attempt refused (retried)", "Port bind failed (logged)", "dmabuf registration refused")
WAITERS = (
    "Store wait timed out",
    "NCCL watchdog collective timeout",
    "Gloo operation timed out",
    "monitoredBarrier names a rank",
)
_BRIDGE = "172.17."
"""The network of docker's default bridge."""
_LONG_MINUTES = 10
_SHELL_CODES = 126
"""From here on exit codes are the shell's and signals'."""
_QUIET_SECONDS = 900


@filter_def("ErrnoInsideCommunication", AUTHOR, priority=FilterPriority.EARLY + 100)
def errno_inside_communication(context: FilterContext) -> None:
    """An errno that a communication library prints is that library's finding, not one of files or disks.

    "No space left on device" in an NCCL warning about a shared-memory segment is /dev/shm, and an exception thrown by
    ProcessGroupNCCL is what its text says.
    """
    stream = context.event_stream
    read = stream.bad(rules=rules_of(stream, ERRNO_READERS))
    specific = by_line(stream.bad(rules=rules_called(stream, LIBRARIES)) if read else ())
    for event in read:
        found = next((specific[line] for line in lines_of(event) if line in specific), None)
        if found is not None:
            stream.discard(event, by="ErrnoInsideCommunication", explained_by=found)


@filter_def("LoggedConnectionWarning", AUTHOR, priority=FilterPriority.EARLY + 110)
def logged_connection_warning(context: FilterContext) -> None:
    """A line that is the library's own warning of something it retries or survives proves nothing by its errno."""
    warnings = by_line(context.event_stream.events(symptom=WARNINGS, type=EventType.INTERESTING_NODE))
    for event in context.event_stream.bad() if warnings else ():
        found = next((warnings[line] for line in lines_of(event) if line in warnings), None)
        if found is not None:
            context.event_stream.demote(event, by="LoggedConnectionWarning", explained_by=found)


@filter_def("NcclErrorSaidTwice", AUTHOR, priority=FilterPriority.EARLY + 120)
def nccl_error_said_twice(context: FilterContext) -> None:
    """PyTorch prints an NCCL error in two lines, the error and the explanation of its code: one fact, counted once."""
    stream = context.event_stream
    texts = {_place(event): event for event in stream.bad(rules=rules_of(stream, ("NcclResultText",)))}
    for event in stream.bad(rules=rules_of(stream, ("NcclResultName",))):
        if _place(event) in texts:
            stream.discard(event, by="NcclErrorSaidTwice", explained_by=texts[_place(event)])


def _place(event: Event) -> tuple[object, ...]:
    return event.source, event.stream, event.node, event.rank, event.symptom


@filter_def("PortRecovered", AUTHOR, priority=FilterPriority.MID)
def port_recovered(context: FilterContext) -> None:
    """A port that came back, with no communication failure after its error, decided nothing."""
    stream = context.event_stream
    active: dict[tuple[str | None, str | None], list[Event]] = {}
    for event in stream.events(symptom="IB port active"):
        active.setdefault((event.node, event.device), []).append(event)
    failures = stream.bad(context.registry.resolve([outcomes(Outcome.COMMUNICATION_FAILURE)])) if active else []
    for error in stream.bad(["IB port error"]) if active else ():
        back = next((event for event in active.get((error.node, error.device), ()) if _after(event, error)), None)
        if back is not None and not any(_soon_after(failure, error) for failure in failures):
            stream.demote(error, by="PortRecovered", explained_by=back)


def _after(event: Event, other: Event) -> bool:
    if event.last.timestamp is not None and other.last.timestamp is not None:
        return event.last.timestamp >= other.last.timestamp
    return event.stream == other.stream and (event.last.line_num or 0) >= (other.last.line_num or 0)


def _soon_after(failure: Event, error: Event) -> bool:
    if failure.last.timestamp is not None and error.first.timestamp is not None:
        return 0 <= failure.last.timestamp - error.first.timestamp <= _QUIET_SECONDS * 1_000_000
    return failure.stream != error.stream or (failure.last.line_num or 0) >= (error.first.line_num or 0)


@filter_def(PROVEN_TOGETHER, AUTHOR, priority=FilterPriority.STANDARD)
def proven_together(context: FilterContext) -> None:
    """What no line says alone: two kinds of evidence that together have one meaning.

    Each finding names its symptom and takes the place of the line it was read from.
    """
    _nccl_packages_collide(context)
    _leftover_rendezvous_file(context)
    _launchers_share_rendezvous(context)
    _faulty_rank_exited(context)
    _preprocessing_outlasts_timeout(context)
    _crash_inside_nccl(context)
    _bridge_address_across_hosts(context)


def _nccl_packages_collide(context: FilterContext) -> None:
    """NCCL packages of two CUDA majors installed in one environment overwrite each other's library."""
    groups: dict[tuple[object, ...], list[Event]] = {}
    for event in _facts(context.event_stream, "nccl_package"):
        groups.setdefault((event.source, event.stream, event.node), []).append(event)
    for events in groups.values():
        if len({event.payload.get("cuda") for event in events}) > 1:
            last = max(events, key=lambda event: (event.first.line_num or 0, str(event.payload.get("cuda"))))
            _derive(context, last, "Two NCCL packages installed over each other")


def _leftover_rendezvous_file(context: FilterContext) -> None:
    """A refused address that no host of the job has, in a job that meets through a file: the file is an old one."""
    stream = context.event_stream
    if next(_facts(stream, "file_rendezvous"), None) is None:
        return
    known = {
        str(event.payload.get(name))
        for event in stream.events(type=EventType.MAPPING)
        if event.payload.get("ip")
        for name in ("ip", "host")
    }
    for event in stream.bad(["NCCL connection refused", "NCCL connect failed"]):
        peer = str(event.payload.get("peer") or "")
        if known and peer and peer not in known:
            _derive(context, event, "Left-over rendezvous file")


def _launchers_share_rendezvous(context: FilterContext) -> None:
    """A bind conflict of the store at the start and a closed rendezvous later: several agents of a node in one."""
    stream = context.event_stream
    conflicts = stream.events(symptom=["Port bind failed (logged)", "Address already in use"])
    for closed in stream.bad(["Rendezvous closed"]):
        if any(event.stream == closed.stream and follows(closed, event) for event in conflicts):
            _derive(context, closed, "Launchers share one rendezvous")
            return


def _faulty_rank_exited(context: FilterContext) -> None:
    """A monitored barrier names a rank, and the launcher saw that rank end with an ordinary error code.

    Where the launcher's report is torn apart, it is enough that all ranks run on one host and that no exit code of the
    job is a signal's.
    """
    stream = context.event_stream
    failed = {
        event.rank for event in _facts(stream, "elastic_failure") if event.payload.get("first") and _is_ordinary(event)
    }
    codes = list(_facts(stream, "exit_code"))
    one_host = len(context.job.nodes) == 1 and bool(codes) and all(_is_ordinary(event) for event in codes)
    for barrier in stream.bad(["monitoredBarrier names a rank"]):
        if one_host or failed.intersection(ranks_in(barrier.payload.get("ranks"))):
            _derive(context, barrier, "Faulty rank exited by itself")
            return


def _is_ordinary(event: Event) -> bool:
    return 0 < _number(event.payload.get("exitcode")) < _SHELL_CODES


def _number(value: object) -> int:
    text = str(value or "")
    return int(text) if text.lstrip("-").isdigit() else 0


def _preprocessing_outlasts_timeout(context: FilterContext) -> None:
    """The progress bar of a data preparation still runs, ten minutes old or more, when waiting ranks give up."""
    stream = context.event_stream
    running = [bar for bar in _facts(stream, "preprocessing") if _is_running(bar)]
    steps = list(_facts(stream, "progress"))
    for waiting in stream.bad(WAITERS):
        for bar in running:
            started = any(follows(step, bar) and follows(waiting, step) and step.stream == bar.stream for step in steps)
            if follows(waiting, bar) and not started:
                _derive(context, waiting, "Preprocessing outlasts the process-group timeout")
                return


def _is_running(bar: Event) -> bool:
    return bar.payload.get("done") != "100" and _minutes(bar) >= _LONG_MINUTES


def _minutes(bar: Event) -> int:
    parts = [int(part) for part in str(bar.payload.get("elapsed") or "0").split(":") if part.isdigit()]
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + part
    return seconds // 60


def _crash_inside_nccl(context: FilterContext) -> None:
    """A crash handler's signal line whose stack has NCCL frames is a crash inside NCCL."""
    stream = context.event_stream
    crashes = [event for event in stream.bad(["Worker crashed by signal"]) if definition_of(event) == "CrashHandler"]
    for frame in _facts(stream, "crash_frame"):
        before = [crash for crash in crashes if crash.stream == frame.stream and follows(frame, crash)]
        for crash in before[-1:]:
            _derive(context, crash, "Segmentation fault in NCCL")


def _bridge_address_across_hosts(context: FilterContext) -> None:
    """In a job of several hosts no store can be reached at docker's default bridge: every host has its own."""
    if len(context.job.nodes) < 2:  # noqa: PLR2004 - two hosts
        return
    for event in context.event_stream.bad(["Store host not reachable"]):
        if str(event.payload.get("peer") or event.payload.get("address") or "").startswith(_BRIDGE):
            _derive(context, event, "Unreachable container or loopback address")


def _facts(stream: EventStream, kind: str) -> Iterator[Event]:
    return (event for event in stream.events(type=EventType.JOB_INFO) if event.payload.get("kind") == kind)


def _derive(context: FilterContext, event: Event, symptom: str) -> None:
    """The finding takes the place of the event it was read from, so that the line is told once."""
    found = context.event_stream.emit(
        event_type=EventType.BAD_NODE,
        rule=PROVEN_TOGETHER,
        derived_from=event,
        symptom=symptom,
        payload=dict(event.payload),
    )
    if event.event_type == EventType.BAD_NODE:
        context.event_stream.discard(event, by=PROVEN_TOGETHER, explained_by=found)
