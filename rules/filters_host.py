"""What the kernel of a node tells: crashes of the host's own daemons, and whose stack it prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import FilterContext, FilterPriority, filter_def

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event

AUTHOR = "attribution maintainers"
LOCKUPS = ("Soft lockup", "Hard lockup", "RCU stall", "Hung kernel task")
STUCK_IN = ("Task stuck in the GPU driver", "Task stuck in a file system client")
OTHER_STACKS = ("Kernel warning", "Kernel oops")
"""Reports of the kernel that print a stack of their own."""
STACK_SECONDS = 5
_NOT_ABOVE = -1
_MICROSECONDS = 1_000_000
_DAEMON = re.compile(
    r"nv-hostengine|dcgm-exporter|nvidia-persiste|(?:node|process|blackbox)_exporte|prometheus|promtail|telegraf|collectd"
    r"|fluent-?bit|fluentd|filebeat|vector|zabbix_\w+|gmond|snmpd|smartd|ipmi\w+|rasdaemon|mcelog|irqbalance|tuned|auditd"
    r"|rsyslogd|syslog-ng|systemd(?:-\w+)?|dbus-(?:daemon|broker)|polkitd|sshd|sssd\w*|nscd|nslcd|crond?|chronyd|ntpd"
    r"|NetworkManager|snapd|packagekitd|falcon-sensor|puppet|salt-minion|Xorg|gnome-shell|mysqld|postgres|nginx"
)
"""Names as the kernel keeps them: at most 15 characters."""


@filter_def("CrashOfTheHostsDaemon", AUTHOR, priority=FilterPriority.MID)
def demote_crashes_of_the_hosts_daemons(context: FilterContext) -> None:
    """A monitoring agent or a daemon of the host that crashes is the operators' news, not how the job ended."""
    stream = context.event_stream
    foreign = [
        event for event in stream.bad(["Process crashed (kernel log)"]) if _is_daemon(event.payload.get("process"))
    ]
    if foreign:
        stream.demote_all(foreign, by="CrashOfTheHostsDaemon")


def _is_daemon(process: str | None) -> bool:
    return process is not None and _DAEMON.fullmatch(process) is not None


@filter_def(name="StackOfStuckTask", author=AUTHOR, priority=FilterPriority.STANDARD)
def keep_driver_stacks_of_stuck_tasks(context: FilterContext) -> None:
    """The kernel prints stacks for many reasons: frames of a driver or client count below a hung task or a lockup only.

    The line that names the stuck task is what is shown; the frame below it tells whose lock it waits for.
    """
    for symptom in STUCK_IN:
        _keep_frames_of_stuck_tasks(context, symptom)


def _keep_frames_of_stuck_tasks(context: FilterContext, symptom: str) -> None:
    stream = context.event_stream
    frames = stream.bad([symptom])
    if not frames:
        return
    stuck = _on_node(stream.bad(LOCKUPS))
    others = _on_node(stream.events(symptom=OTHER_STACKS))
    told: dict[int, Event] = {}
    for frame in frames:
        heads = [event for event in stuck.get(frame.node, ()) if _stack_belongs(frame, event)]
        head = max(heads, key=lambda event: _line_above(frame, event), default=None)
        if head is None or _other_stack(frame, head, others.get(frame.node, ())):
            stream.discard(frame, by="StackOfStuckTask")
            continue
        if id(head) not in told:
            told[id(head)] = stream.emit(
                event_type=head.event_type,
                rule="StackOfStuckTask",
                derived_from=head,
                symptom=symptom,
                payload={**head.payload, **frame.payload},
            )
        stream.discard(frame, by="StackOfStuckTask", explained_by=told[id(head)])


def _stack_belongs(frame: Event, stuck: Event) -> bool:
    times = frame.first.timestamp, stuck.first.timestamp
    if times[0] is not None and times[1] is not None:
        last = stuck.last.timestamp or times[1]
        return times[1] - STACK_SECONDS * _MICROSECONDS <= times[0] <= last + STACK_SECONDS * _MICROSECONDS
    return _line_above(frame, stuck) != _NOT_ABOVE


def _line_above(frame: Event, head: Event) -> int:
    """The line of ``head`` where it stands at or above ``frame`` in the same stream."""
    line = head.line_num or 0
    return line if head.stream == frame.stream and line <= (frame.line_num or 0) else _NOT_ABOVE


def _other_stack(frame: Event, stuck: Event, others: Iterable[Event]) -> bool:
    """A warning or an oops that stands closer above the frame than the stuck task owns the frame."""
    above = max((_line_above(frame, event) for event in others), default=_NOT_ABOVE)
    return above > _line_above(frame, stuck)


def _on_node(events: Iterable[Event]) -> dict[str | None, list[Event]]:
    found: dict[str | None, list[Event]] = {}
    for event in events:
        found.setdefault(event.node, []).append(event)
    return found
