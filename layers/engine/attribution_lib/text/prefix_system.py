"""Prefixes that the log path puts on a line: kernel ring buffer, syslog, journal, containers, Slurm, Kubernetes."""

from __future__ import annotations

import re

from attribution_lib.observation import Source
from attribution_lib.text.hosts import is_level, looks_like_host
from attribution_lib.text.prefix_forms import DIGITS, LETTERS, SYSTEM, Draft, Form, form
from attribution_lib.text.stamps import (
    CALENDAR,
    EPOCH,
    NAMED,
    UPTIME,
    US_DATE,
    WEEKDAY,
    Stamp,
    read_calendar,
    read_epoch,
    read_named,
    read_uptime,
)

__all__ = ["SYSTEM_FORMS"]

_HOST = r"(?P<node>[A-Za-z0-9](?>[\w.-]{0,254}+(?!:[\da-fA-F:])|(?:[\w.-]|:(?=[\da-fA-F:])){0,254}+))"
"""A name, or an address of either version; the second way of reading it costs twice as much as the first."""
_PROGRAM = r"(?P<program>[\w./@()+-]{1,64}+)(?:\[(?P<pid>\d{1,9})\])?:(?: |(?=\[)|$)"
_TAIL = rf"(?: {_HOST} (?:[a-z]\w{{2,8}}\.[a-z]{{3,7}} )?{_PROGRAM})"
"""`` node-a kernel: ``, `` node-0012 slurmd[13562]: ``; busybox adds ``kern.info`` in between."""
_IN_CALENDAR = r"[\dTtZzUCGM:.,+/_ -]*+"
"""All that a calendar stamp is made of. What cannot follow one is told by this at a tenth of the stamp's own cost."""
_NO_COMMA = r"(?!.{19},)"
"""dmesg --time-format iso writes a comma before the fraction and never a host after it."""
_NAMED_PROGRAM = r"(?P<program>[A-Za-z][\w.-]{0,63}+)"
_OBJECT = r"(?:[Nn]odes?/(?P<node>[\w.-]{1,253})|[\w.-]{1,253}/[\w.-]{1,253})"
_INITIALS = "".join(sorted({*"JFMASOND", *"MTWFS"}))
"""Of the names of months and weekdays."""
_FACILITY = r"(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7])"
_SEVERITY = r"(?:emerg|alert|crit|err|error|warn|warning|notice|info|debug)"
_STRUCTURED = r'(?:-|(?:\[(?:[^\]"\\]|\\.|"(?:[^"\\]|\\.)*+")*+\])++)'
_YEAR_DIGITS = 4
_SLURM_ERA = 1_200_000_000
_NAMED_LINE = re.compile(NAMED, re.ASCII)


def _names_a_host(match: re.Match[str], draft: Draft) -> bool:
    """``2026-06-16T11:00:06Z WARN apply_reconcile: …`` has a level where syslog has the host; `date` has a zone."""
    node = match["node"]
    if is_level(node) or (node.isupper() and len(match["program"]) == _YEAR_DIGITS and match["program"].isdigit()):
        return False
    told = draft.source is Source.SYSLOG or match["pid"] is not None or match["program"] == "kernel"
    return told or looks_like_host(node)


def _is_host(match: re.Match[str], _draft: Draft) -> bool:
    return looks_like_host(match["node"])


def _possible_uptime(match: re.Match[str], draft: Draft) -> bool:
    """``[63532.0]`` is a Slurm step and ``[1]`` a rank: outside of syslog the kernel's six decimals are needed."""
    return draft.source is Source.SYSLOG or len(match["fraction"] or "") == 6  # noqa: PLR2004 - printk's precision


def _plausible_epoch(match: re.Match[str], _draft: Draft) -> bool:
    """``1073741824 bytes`` begins with a number too: a fraction is needed, and a year after 2008."""
    return match["fraction"] is not None and int(match["epoch"]) >= _SLURM_ERA


def _logged_by_a_daemon(match: re.Match[str], draft: Draft) -> bool:
    """``[ 12.3] python3[28651]: segfault at …`` is the kernel speaking of a process, not a process speaking."""
    start = match.start()
    return draft.program is None and "]" not in match.string[max(start - 2, 0) : start]


def _inside_slurm(_match: re.Match[str], draft: Draft) -> bool:
    return draft.stamped or draft.program is not None


def _printed_by_srun(match: re.Match[str], draft: Draft) -> bool:
    return draft.program == "srun" and not is_level(match["node"])


def _read_optional(match: re.Match[str]) -> Stamp | None:
    return read_calendar(match) if match["year"] else None


def _read_minute(match: re.Match[str]) -> Stamp | None:
    """``[Jun14 16:25] ``: the absolute stamps among dmesg -H's deltas."""
    written = _NAMED_LINE.match(f"{match['name']} {match['date']} {match['time']}:00")
    return None if written is None else read_named(written)


_KERNEL = (
    form("message repeated", "m", r"message repeated (?P<repeated>\d{1,9}) times?: \[ ?"),
    form(
        "kmsg record",
        DIGITS,
        r"\d{1,4},\d{1,19},(?:(?P<uptime>\d{1,9})(?P<fraction>\d{6})|\d{1,6}),[^;\n]{1,60};",
        stamp=lambda match: read_uptime(match) if match["uptime"] else None,
    ),
    form("kmsg priority", "<", r"<\d{1,3}>(?=[ \[A-Z\d])(?!1 )"),
    form("dmesg -x, Talos", "kumdaslncf", rf"{_FACILITY} *: *{_SEVERITY} *: ?"),
    form(
        "seconds since boot",
        "[",
        rf"\[ *+{UPTIME}(?: <[ \d.]+>)?\](?:\[ *[TC]\d+\])?:? ?",
        then=" " + DIGITS,
        stamp=read_uptime,
        accept=_possible_uptime,
    ),
    form("dmesg -e delta", "[", r"\[(?: *\+\d+\.\d+|\.\.\.)\] ?", then=" +.", sources=SYSTEM),
    form(
        "dmesg -e minute",
        "[",
        r"\[(?P<name>[A-Z][a-z]{2})(?P<date>[ \d]\d) (?P<time>\d\d:\d\d)\] ?",
        then=_INITIALS,
        stamp=_read_minute,
    ),
    form(
        "dmesg -T, Fabric Manager",
        "[",
        rf"\[{NAMED}\](?: \[[A-Z]{{3,8}}\] +\[tid \d+\])? ?",
        then=_INITIALS,
        stamp=read_named,
    ),
)
_SYSLOG = (
    form(
        "RFC 5424",
        "<",
        rf"<\d{{1,3}}>1 (?:-|{CALENDAR}) (?:-|{_HOST}) (?:-|(?P<program>\S{{1,48}})) "
        rf"(?:-|(?P<pid>\d{{1,9}})|\S{{1,128}}) \S{{1,32}} {_STRUCTURED} ?\ufeff?",
        stamp=_read_optional,
    ),
    form("RFC 3164, journal", _INITIALS, rf"{NAMED}{_TAIL}", stamp=read_named, accept=_names_a_host),
    form("date and host", _INITIALS, rf"{NAMED} {_HOST} ", stamp=read_named, accept=_is_host, sources=SYSTEM),
    form("bare date", _INITIALS, rf"{NAMED}(?:: |[ \t]|(?=\[\d)|$)", stamp=read_named),
    form("ISO syslog, journal", DIGITS, rf"{_NO_COMMA}{CALENDAR}{_TAIL}", stamp=read_calendar, accept=_names_a_host),
    form("journal short-full", _INITIALS, rf"{WEEKDAY} {CALENDAR}(?:{_TAIL}| )", stamp=read_calendar),
    form("wall message", "M", rf"Message from syslogd@{_HOST} at {NAMED} \.\.\.", stamp=read_named),
    form("host and kernel", LETTERS + DIGITS, rf"{_HOST} (?P<program>kernel): ?", sources=SYSTEM),
    form("kernel", "k", r"(?P<program>kernel):(?: |(?=\[))"),
    form(
        "program",
        LETTERS,
        rf"{_NAMED_PROGRAM}\[(?P<pid>\d{{1,9}})\]: ?",
        accept=_logged_by_a_daemon,
        sources=SYSTEM,
    ),
    form(
        "host and program",
        LETTERS + DIGITS,
        rf"{_HOST} {_NAMED_PROGRAM}\[(?P<pid>\d{{1,9}})\]: ?",
        accept=_logged_by_a_daemon,
        sources=SYSTEM,
    ),
    form(
        "IPMI event log", DIGITS + "abcdef", rf"[\da-f]{{1,4}} +\| {US_DATE} \| ", stamp=read_calendar, sources=SYSTEM
    ),
)
_CONTAINERS = (
    form(
        "CRI",
        DIGITS,
        rf"(?={_IN_CALENDAR}std(?:out|err) ){CALENDAR} (?:stdout|stderr) [FP] ?",
        stamp=read_calendar,
    ),
    form(
        "Kubernetes event",
        DIGITS,
        rf"(?={_IN_CALENDAR}(?:Normal|Warning) ){CALENDAR} (?:Normal|Warning) \S{{1,80}} {_OBJECT}(?: |$)",
        stamp=read_calendar,
    ),
    form(
        "kubectl get events",
        DIGITS,
        rf"(?:\d{{1,5}}[smhd]){{1,2}} +(?:Normal|Warning) +\S{{1,80}} +{_OBJECT}(?: +|$)",
        sources=SYSTEM,
    ),
    form("kubectl logs --prefix", "[", r"\[pod/[\w.-]{1,253}/[\w.-]{1,253}\] ?", then="p"),
)
_SLURM = (
    form(
        "Slurm step",
        "[",
        r"\[\d{1,10}\.(?:\d{1,10}|extern|batch|interactive)\] (?:error: )?",
        then=DIGITS,
        accept=_inside_slurm,
    ),
    form(
        "Slurm program",
        "s",
        r"(?P<program>srun|sbatch|salloc|scancel|squeue|slurmctld|slurmdbd|slurmd|slurmstepd): (?:(?:error|fatal): )?",
    ),
    form(
        "srun task",
        LETTERS + DIGITS,
        r"(?P<node>[A-Za-z0-9][\w.-]{0,254}): task (?P<task>\d{1,7}): ?",
        accept=_printed_by_srun,
    ),
    form(
        "Slurm cancellation",
        "*",
        rf"\*\*\* (?:STEP|JOB) [\w.+]{{1,60}} (?:STEPD )?(?:[A-Z]+ )?(?:ON (?P<node>[\w.-]{{1,253}}) )?(?:CANCELLED )?"
        rf"AT {CALENDAR}",
        stamp=read_calendar,
        peek=True,
    ),
)
_DATES = (
    form(
        "date in brackets",
        "[",
        rf"\[(?:NeMo [IWED] )?{CALENDAR}(?: [^\]\n]{{1,60}})?\]:? ?",
        then="N" + DIGITS,
        stamp=read_calendar,
    ),
    form("US date in brackets", "[", rf"\[{US_DATE}\] ?", then=DIGITS, stamp=read_calendar),
    form("date", DIGITS, rf"{CALENDAR}(?:: |[ \t]|(?=[,:\[])|$)", stamp=read_calendar),
    form("US date", DIGITS, rf"{US_DATE}(?:: |[ \t;]|$)", stamp=read_calendar),
    form("epoch", DIGITS, rf"{EPOCH}(?:: ?|[ \t]|$)", stamp=read_epoch, accept=_plausible_epoch),
    form("epoch in brackets", "[", rf"\[{EPOCH}\] ?", then="12", stamp=read_epoch, accept=_plausible_epoch),
)
SYSTEM_FORMS: tuple[Form, ...] = (*_KERNEL, *_CONTAINERS, *_SYSLOG, *_SLURM, *_DATES)
"""In order of trial: the more telling form of a date before the bare one."""
