"""Prefixes that launchers, frameworks and loggers put on a line of an application's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.text.hosts import looks_like_host
from attribution_lib.text.prefix_forms import APPLOG, DIGITS, LETTERS, LOWER, NOT_SYSLOG, SYSTEM, Draft, Form, form
from attribution_lib.text.stamps import (
    CALENDAR,
    CLOCK_TIME,
    EPOCH,
    GLOG,
    MONTH_DAY,
    Stamp,
    read_calendar,
    read_epoch,
    read_month_day,
)

if TYPE_CHECKING:
    import re

__all__ = ["APPLICATION_FORMS"]

_HOST = r"(?P<node>[A-Za-z0-9][\w.-]{0,254}+)"
_LOWER_HOST = r"(?P<node>[a-z0-9][a-z0-9.-]{1,252}+)"
_ADDRESS = r"(?:\d{1,3}\.){3}\d{1,3}"
_LABEL = r"(?P<node>[a-z0-9][a-z0-9-]{0,62}+)"
_STREAM = r"<(?:stdout|stderr|stddiag)>"
_LEVEL_INITIALS = "TDINWECF"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_LOGGER = r"[\w.:<>/-]{1,80}"
_FILE = r"[\w./+-]{1,200}:\d{1,6}"
_UNMISTAKABLE = (
    r"(?=\[rank\d|\[default\d|\[ *\d+\.\d{6}\]|[IWEF]\d{3,4} \d\d:|\[?\d{4}-\d\d-\d\d[T ]|[\w.-]+:\d+:\d+ \[-?\d+\] )"
)
"""What a host's bare name may stand in front of."""
_RAY_REPEATED = r"(?:(?=.*\[repeated (?P<repeated>\d{1,9})x across cluster\]))?"
_SYSTEM_LINE = (
    r"(?=\[[ \d]|\[[A-Z][a-z]{2} |<\d|kern|\d{4}-\d\d-\d\d[T ]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) )"
)


def _is_host(match: re.Match[str], _draft: Draft) -> bool:
    return looks_like_host(match["node"])


def _unlabelled(_match: re.Match[str], draft: Draft) -> bool:
    return not draft.labelled


def _first(_match: re.Match[str], draft: Draft) -> bool:
    return draft.forms == 0


def _in_logger(_match: re.Match[str], draft: Draft) -> bool:
    """Names of loggers and files are skipped only where a logger is at work."""
    return draft.stamped or draft.rank is not None


def _unstamped(_match: re.Match[str], draft: Draft) -> bool:
    return not draft.stamped


def _read_glog(match: re.Match[str]) -> Stamp | None:
    return read_month_day(match) if match["month"] else None


_LABELS = (
    form("srun --label", DIGITS, r"(?P<task>\d{1,6}):(?: |$)", accept=_unlabelled),
    form("MPI tag", "[", rf"\[\d{{1,6}},(?P<task>\d{{1,6}})\]{_STREAM}:", then=DIGITS, accept=_unlabelled),
    form("PRRTE tag", "[", rf"\[[\w.-]{{1,250}}@\d{{1,6}},(?P<task>\d{{1,6}})\]{_STREAM}: ?", accept=_unlabelled),
    form(
        "SageMaker tag",
        "[",
        rf"\[\d{{1,6}},mpirank:(?P<rank>\d{{1,6}}),(?P<node>[\w.-]{{1,253}})\](?:{_STREAM})?:",
        then=DIGITS,
    ),
    form("Horovod tag", "[", rf"\[(?P<task>\d{{1,6}})\]{_STREAM}:", then=DIGITS, accept=_unlabelled),
    form("Hydra -prepend-rank", "[", r"\[(?P<task>\d{1,6})\] ", then=DIGITS, accept=_first, sources=APPLOG),
    form("global rank", "[", r"\[(?:rank|RANK)[:= ]{0,2}(?P<rank>\d{1,6})\]:? ?", then="rR"),
    form("torchrun --tee", "[", r"\[[A-Za-z_]{1,60}+(?P<local_rank>\d{1,2})\]:", then=LETTERS + "_"),
    form("NVRx", "[", r"\[workload:(?P<rank>\d{1,6})\((?P<local_rank>\d{1,4})\) infra:[\d()]{1,12}\] ?", then="w"),
    form("PID in brackets", "[", r"\[PID:(?P<pid>\d{1,9})\] ?", then="P"),
    form(
        "Ray, vLLM worker",
        "(",
        r"\((?:[\w.:-]{1,80}(?: rank=(?P<rank>\d{1,6}))? )?pid=(?P<pid>\d{1,9})"
        rf"(?:, ip=(?P<node>{_ADDRESS}))?\) ?{_RAY_REPEATED}",
    ),
    form("Ray daemon", "(", rf"\([\w.:-]{{1,80}}, ip=(?P<node>{_ADDRESS})\) ?"),
    form(
        "SkyPilot",
        "(",
        rf"\([\w.-]{{1,80}}, (?:rank=\d{{1,6}}, )?pid=(?P<pid>\d{{1,9}})(?:, ip=(?P<node>{_ADDRESS}))?\) ?",
    ),
    form("Determined container", DIGITS + "abcdef", r"[\da-f]{8} (?=\[rank=| *\|\| )", accept=_in_logger),
    form("Determined separator", "|", r"\|\| ", accept=_in_logger),
    form("Determined agent", "<", r"<(?:trace|debug|info|warning|error|critical|fatal|none)> ?(?=\[)"),
)
_RANKS_OF_GROUPS = (
    form(
        "default process group",
        "[",
        r"\[PG (?:ID )?0(?: PG GUID 0)?(?: ?\(default_pg\))? Rank (?P<rank>\d{1,6})\] ?",
        then="P",
    ),
    form("process group", "[", r"\[PG [^\]\n]{1,200} Rank \d{1,6}\] ?", then="P"),
    form("rank of a group", "[", r"\[Rank ?(?P<group_rank>\d{1,6})\] ?", then="R"),
)
_HOSTS = (
    form(
        "NCCL",
        LETTERS + DIGITS,
        rf"{_HOST}:(?P<pid>\d{{1,9}}):\d{{1,9}} \[(?:(?P<device>\d{{1,3}})|-\d)\] "
        r"(?:(?:[\w./:-]{1,120} )?NCCL [A-Z]{4,7} )?",
    ),
    form("address label", DIGITS, rf"(?P<node>{_ADDRESS}):(?: |$)"),
    form("pdsh", "p", r"(?P<program>pdsh)@[\w.-]{1,253}: ?"),
    form("host label", LOWER + DIGITS, rf"{_LOWER_HOST}:(?: |$)", accept=_is_host, sources=APPLOG),
    form(
        "host label of a system line",
        LOWER + DIGITS,
        rf"{_LOWER_HOST}: {_SYSTEM_LINE}",
        accept=_is_host,
        sources=SYSTEM,
    ),
    form("bare host", LOWER + DIGITS, rf"{_LOWER_HOST} {{1,2}}{_UNMISTAKABLE}", accept=_is_host),
    form("host and stream", LOWER + DIGITS, rf"(?:[\w-]{{1,100}}+\.)?{_LABEL} \[std(?:out|err)\] ?", accept=_is_host),
    form("host in brackets", "[", rf"\[{_HOST}\] ?", then=LOWER + DIGITS, accept=_is_host, sources=NOT_SYSLOG),
    form(
        "OpenMPI, UCX",
        "[",
        rf"\[{_HOST}:(?P<pid>\d{{1,9}}) *(?::\d{{1,9}})*\] *",
        then=LOWER + DIGITS,
        accept=_is_host,
    ),
)
_LOGGERS = (
    form("glog", "IWEFD", rf"{GLOG} +(?:\d{{1,20}} +)?{_FILE}\] ?", stamp=read_month_day),
    form("Abseil before init", "IWEF", rf"[IWEF]0000 00:00:{EPOCH} +\d{{1,20}} {_FILE}\] ?", stamp=read_epoch),
    form("c10", "[", rf"\[(?:{GLOG}|[IWEF]) {_FILE}\] ?", then="IWEFD", stamp=_read_glog),
    form("TensorFlow", "IWEF", rf"[IWEF] {_FILE}\] ?", accept=_in_logger),
    form("month and day", DIGITS, rf"{MONTH_DAY}(?:: |[ \t]|(?=[,\[])|$)", stamp=read_month_day),
    form("month and day in brackets", "[", rf"\[{MONTH_DAY}(?: {_LOGGER})?\]:? ?", then=DIGITS, stamp=read_month_day),
    form("time of day", DIGITS, rf"{CLOCK_TIME} +", accept=_unstamped, sources=APPLOG),
    form("time of day in brackets", "[", rf"\[{CLOCK_TIME}\] *", then=DIGITS, accept=_unstamped, sources=APPLOG),
    form("Python basicConfig", _LEVEL_INITIALS, rf"{_LEVEL}:[\w.]{{1,120}}:", sources=NOT_SYSLOG),
    form("level", _LEVEL_INITIALS, rf"{_LEVEL}:?(?: \|)? +", sources=NOT_SYSLOG),
    form("level in brackets", "[", rf"\[{_LEVEL}(?:[|:]{_FILE})?\] *", then=_LEVEL_INITIALS, sources=NOT_SYSLOG),
    form("Python logging", "-", rf"- (?:\[?{_LOGGER}\]? - )?(?:{_LEVEL} - )?", accept=_in_logger),
    form("loguru, fairseq", "|", rf"\| {_LEVEL} *\| (?:{_LOGGER} (?:\||-) )?", accept=_in_logger),
    form("level in colons", ":", rf":{_LEVEL}: ?", accept=_in_logger),
    form("ESPnet", "(", rf"\({_LOGGER}\) {_LEVEL}: ?", accept=_in_logger),
    form("Transformers", ">", r">> ", accept=_in_logger),
    form("logger and level", LETTERS + "_", rf"{_LOGGER}: \[{_LEVEL}\] ?", accept=_in_logger, sources=NOT_SYSLOG),
    form(
        "logger in brackets",
        "[",
        rf"\[{_LOGGER}\] ?",
        then=LETTERS + "_",
        accept=_in_logger,
        sources=NOT_SYSLOG,
    ),
    form("file", LETTERS, r"[\w./-]{1,200}\.(?:py|cc|cpp|cu|rs|go):\d{1,6} ", accept=_in_logger, sources=NOT_SYSLOG),
    form(
        "logfmt",
        "t",
        rf'(?:time|ts|t)="?{CALENDAR}"? (?:(?:[\w.]{{1,40}}=(?:"[^"\n]{{0,200}}"|[^\s"]{{0,200}}) ){{0,8}}?msg="?)?',
        stamp=read_calendar,
    ),
    form(
        "Loki labels",
        "{",
        r'\{(?=[^}\n]{0,500}\b(?:host|hostname|node|nodename|instance)="(?P<node>[\w.-]{1,253})[":])'
        r'\w+="[^}\n]{0,600}\} ?',
    ),
)
_MESSAGES = (
    form("C++ terminate", "w", r"what\(\): +"),
    form("tool", "wp", r"(?P<program>wandb|pyxis): (?:(?:ERROR|WARNING|error) )?", sources=NOT_SYSLOG),
    form(
        "Megatron exit",
        "[",
        rf"\[(?:exiting program|after|before) [^\]\n]{{1,100}}\] datetime: {CALENDAR}",
        then="eab",
        stamp=read_calendar,
        peek=True,
    ),
)
APPLICATION_FORMS: tuple[Form, ...] = (*_LABELS, *_RANKS_OF_GROUPS, *_HOSTS, *_LOGGERS, *_MESSAGES)
"""In order of trial: tags before brackets that could be anything."""
