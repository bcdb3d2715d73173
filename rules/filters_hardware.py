"""What several lines of a node say together: links that flap or come back, and whose memory the kernel freed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import (
    EventType,
    FilterContext,
    FilterPriority,
    Outcome,
    RefinerPriority,
    Scope,
    filter_def,
    outcomes,
    refiner_def,
    xid,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, EventStream, RefinerContext

AUTHOR = "attribution maintainers"
LINK_DOWN = ("InfiniBand link down", "Ethernet link down")
LINK_UP = "Network link up"
LINK_FLAPPING = "Network link flapping"
FLAP_LOSSES = 2
"""Losses in so many different minutes are a flap; one loss written twice is not."""
OOM_KILLS = ("Kernel OOM kill", "Kernel OOM kill (cgroup limit)", "Kernel OOM report")
HOST_SERVICE_KILLED = "Host service killed by the OOM killer"
SERVICES = "system.slice"
JOB_LAUNCHERS = ("slurmd", "docker", "containerd", "crio", "kubelet", "k3s", "pbs", "sge_execd", "lsf", "ray")
"""Services whose cgroup may hold the job itself."""
SIGN_OF_FAILURE = 300
"""Symptoms below this rank are echoes and noise."""
TEARDOWN_SECONDS = 30
REPORT_SECONDS = 5
CONTAINED_ERROR = "cudaErrorContained"
DOMAIN_SECONDS = 10
FABRIC_MANAGER_DOWN = "Fabric manager not running"
NO_NVSWITCH = "No NVSwitch for the fabric manager"
DRAINED_FOR_GPU = "Drain reason names a GPU fault"
_MICROSECONDS = 1_000_000
GPU_OUTCOMES = (Outcome.GPU_HARDWARE, Outcome.GPU_MEMORY, Outcome.NVLINK, Outcome.GPU_DRIVER)


@filter_def(name="LinkFlaps", author=AUTHOR, priority=FilterPriority.STANDARD)
def close_or_count_link_losses(context: FilterContext) -> None:
    """One loss that was followed by a gain is over; losses in several minutes are a flap, up or not.

    Losses of one port are counted in distinct minutes over all log paths that tell of it.
    """
    stream = context.event_stream
    gained = _by_link(stream.events(symptom=LINK_UP))
    for link, losses in sorted(_by_link(stream.bad(LINK_DOWN)).items(), key=_link_order):
        minutes = {minute for event in losses for minute in event.times}
        if len(minutes) >= FLAP_LOSSES:
            flapping = stream.emit(
                event_type=losses[0].event_type,
                rule="LinkFlaps",
                derived_from=losses[0],
                symptom=LINK_FLAPPING,
                payload={**losses[0].payload, "losses": len(minutes)},
            )
            for event in losses:
                stream.discard(event, by="LinkFlaps", explained_by=flapping)
            continue
        gain = _gain_after(losses, gained.get(link, ()))
        if gain is not None:
            for event in losses:
                stream.demote(event, by="LinkFlaps", explained_by=gain)


def _by_link(events: Iterable[Event]) -> dict[tuple[str | None, str], list[Event]]:
    links: dict[tuple[str | None, str], list[Event]] = {}
    for event in events:
        links.setdefault((event.node, str(event.payload.get("link", ""))), []).append(event)
    return links


def _link_order(item: tuple[tuple[str | None, str], list[Event]]) -> tuple[str, str]:
    node, link = item[0]
    return node or "", link


def _gain_after(losses: Iterable[Event], gains: Iterable[Event]) -> Event | None:
    """A gain that comes after the last loss: by time, or by line where both stand in one stream without times."""
    last = max((event.last for event in losses), key=lambda position: position.order())
    for gain in gains:
        if last.timestamp is not None and gain.last.timestamp is not None:
            if gain.last.timestamp >= last.timestamp:
                return gain
        elif gain.last.stream == last.stream and (gain.last.line_num or 0) > (last.line_num or 0):
            return gain
    return None


@filter_def(name="OomKillOfHostService", author=AUTHOR, priority=FilterPriority.STANDARD)
def tell_host_services_from_jobs(context: FilterContext) -> None:
    """A kill within the memory limit of an operators' service is that service's failure, not the job's.

    The cgroup stands on the kernel's constraint line; the kill line of the same process is the evidence.
    """
    stream = context.event_stream
    told = stream.lists(type=EventType.BAD_NODE, symptom=OOM_KILLS)
    if not any(event.may_say(SERVICES) for events in told for event in events):
        return
    limits = [event for event in stream.bad(OOM_KILLS) if event.may_say(SERVICES)]
    kills = _by_node(stream.bad(OOM_KILLS))
    for limit in limits:
        cgroup = str(limit.payload.get("limit_cgroup") or limit.payload.get("cgroup") or "")
        if limit.state != "active" or not _is_host_service(cgroup):
            continue
        same = [event for event in kills[limit.node] if event.state == "active" and _same_kill(event, limit)]
        killed = [event for event in same if event.rule in ("OomKillCgroup", "OomKill", "OomKilledProcess")]
        evidence = (killed or [limit])[0]
        derived = stream.emit(
            event_type=evidence.event_type,
            rule="OomKillOfHostService",
            derived_from=evidence,
            symptom=HOST_SERVICE_KILLED,
            payload={**evidence.payload, "cgroup": cgroup},
        )
        for event in same:
            stream.discard(event, by="OomKillOfHostService", explained_by=derived)


@filter_def(name="OomKillOfAnotherJob", author=AUTHOR, priority=FilterPriority.EARLY)
def set_kills_of_other_jobs_aside(context: FilterContext) -> None:
    """A report of the kernel has several lines and one of them names the cgroup: what is another job's is so in all."""
    stream = context.event_stream
    told = stream.lists(type=EventType.INTERESTING_NODE, symptom=OOM_KILLS)
    foreign = [event for events in told for event in events if event.state == "demoted" and event.payload.get("job_id")]
    kills = _by_node(stream.bad(OOM_KILLS)) if foreign else {}
    for limit in foreign:
        same = [event for event in kills.get(limit.node, ()) if _of_one_report(event, limit)]
        stream.demote_all(same, by="OomKillOfAnotherJob", explained_by=limit)


def _of_one_report(event: Event, limit: Event) -> bool:
    """Older kernels name no process on the line of the cgroup: then what stands near it in the log is its report."""
    times = event.first.timestamp, limit.first.timestamp
    if None not in times and abs((times[0] or 0) - (times[1] or 0)) > REPORT_SECONDS * _MICROSECONDS:
        return False
    named = limit.payload.get("pid") or limit.payload.get("process")
    return _same_kill(event, limit) if named else event.stream == limit.stream and event.payload.get("job_id") is None


def _by_node(events: Iterable[Event]) -> dict[str | None, list[Event]]:
    found: dict[str | None, list[Event]] = {}
    for event in events:
        found.setdefault(event.node, []).append(event)
    return found


def _is_host_service(cgroup: str) -> bool:
    parts = [part for part in cgroup.split("/") if part]
    if not parts or parts[0] != SERVICES or not any(part.endswith(".service") for part in parts):
        return False
    return not any(part.startswith(JOB_LAUNCHERS) for part in parts)


def _same_kill(event: Event, limit: Event) -> bool:
    pids = event.payload.get("pid"), limit.payload.get("pid")
    if all(pids):
        return pids[0] == pids[1]
    return event.payload.get("process") == limit.payload.get("process")


@filter_def(name="FabricManagerNotNeeded", author=AUTHOR, priority=FilterPriority.STANDARD)
def forgive_fabric_managers_without_switches(context: FilterContext) -> None:
    """On a machine without NVSwitch the fabric manager has nothing to do: that its unit failed is no fault."""
    stream = context.event_stream
    idle = {event.node: event for event in reversed(stream.events(symptom=NO_NVSWITCH))}
    for event in stream.bad([FABRIC_MANAGER_DOWN]):
        if event.node in idle:
            stream.demote(event, by="FabricManagerNotNeeded", explained_by=idle[event.node])


@refiner_def(
    name="FirstContainedErrorOfADomain",
    author=AUTHOR,
    priority=RefinerPriority.FINAL + 180,
    symptoms=[CONTAINED_ERROR],
)
def keep_the_first_contained_error(context: RefinerContext) -> None:
    """All who reach each other's memory over one NVLink domain report its fault: the first report names the place."""
    stream = context.event_stream
    reports = [event for event in stream.bad([CONTAINED_ERROR]) if event.first.timestamp is not None]
    if not reports:
        return
    first = min(reports, key=lambda event: event.first.order())
    for event in reports:
        after = (event.first.timestamp or 0) - (first.first.timestamp or 0)
        if event.node != first.node and after <= DOMAIN_SECONDS * _MICROSECONDS:
            stream.discard(event, by="FirstContainedErrorOfADomain", explained_by=first)


@refiner_def(name="GpuExceptionAtTeardown", author=AUTHOR, symptoms=[xid(13, 31)])
def discard_gpu_exceptions_at_teardown(context: RefinerContext) -> None:
    """A GPU exception long after the job's first sign of failure came from killing it, whatever that failure was."""
    stream = context.event_stream
    echoes = context.registry.resolve([xid(13, 31)])
    first = _first_failure(stream, context, echoes)
    if first is None or first.first.timestamp is None:
        return
    for event in stream.bad(echoes):
        at = event.first.timestamp
        if at is not None and at - first.first.timestamp >= TEARDOWN_SECONDS * _MICROSECONDS:
            stream.discard(event, by="GpuExceptionAtTeardown", explained_by=first)


def _first_failure(stream: EventStream, context: RefinerContext, echoes: frozenset[str]) -> Event | None:
    """The earliest sign of failure that a program printed; echoes of the GPU itself do not count."""
    signs = [
        event
        for event in stream.bad(source="applog")
        if event.symptom is not None
        and event.symptom not in echoes
        and event.first.timestamp is not None
        and context.registry.get(event.symptom).rank >= SIGN_OF_FAILURE
    ]
    return min(signs, key=lambda event: event.first.order(), default=None)


@refiner_def(
    name="CrashOfTheFailedNode",
    author=AUTHOR,
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=[
        outcomes(
            Outcome.HOST_HARDWARE,
            Outcome.HOST_OS,
            Outcome.MAINTENANCE,
            Outcome.POWER_THERMAL,
            Outcome.PCIE,
            Outcome.NETWORK_HARDWARE,
            Outcome.STORAGE_HARDWARE,
            *GPU_OUTCOMES,
        )
    ],
)
def name_the_failed_node(context: RefinerContext) -> None:
    """A system log without host names that shows why a node went down belongs to the node that the scheduler lost.

    A GPU's fault belongs likewise to the one node that was drained for its GPU.
    """
    choice = context.choice
    if choice is None or choice.root is None or choice.root.symptom is None or choice.suspects:
        return
    symptom = context.registry.get(choice.root.symptom)
    placed = choice.root.node is not None or choice.root.source != "syslog"
    if placed or symptom.scope not in (Scope.NODE, Scope.DEVICE):
        return
    if context.job.failed_node is not None:
        choice.suspects.append(context.job.failed_node)
        choice.suspect_reason = f"the node that the scheduler lost; the log that shows {symptom.name} names none"
        return
    drained = _drained_for_gpu(context)
    if symptom.outcome in GPU_OUTCOMES and len(drained) == 1:
        choice.suspects.extend(drained)
        choice.suspect_reason = f"the node that was drained for its GPU; the log that shows {symptom.name} names none"


def _drained_for_gpu(context: RefinerContext) -> list[str]:
    nodes = {event.node for event in context.event_stream.events(symptom=DRAINED_FOR_GPU) if event.node is not None}
    return sorted(nodes & set(context.job.nodes)) if context.job.nodes else sorted(nodes)
