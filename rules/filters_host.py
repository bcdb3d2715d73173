"""What the kernel records of processes that are not the job's: the host's own daemons and agents."""

from __future__ import annotations

import re

from attribution_lib.rule_api import FilterContext, FilterPriority, filter_def

AUTHOR = "attribution maintainers"
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
