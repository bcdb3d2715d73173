"""Inputs made to hurt, each in a process of its own, compared with as many bytes of ordinary text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine import attributor, ingest_text, load_rules
from evidence import hit_lines, quiet_templates, text
from harness import MIB, Bench, Outcome, Section, in_child, watch

from attribution_lib.errors import ObservationError
from attribution_lib.observation import Source
from attribution_lib.observation_parse import parse_observation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["INPUTS", "SECTION"]

_SLOWER = 20
_MEBIBYTES = 300
_SIZE = 50 * MIB
_PATIENCE = 300.0
_XID_79 = b"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
_HIT = b"[rank3]: RuntimeError: CUDA error: device-side assert triggered"


def _filled(line: bytes, size: int) -> bytes:
    return line * (size // len(line))


def _million(size: int) -> int:
    """A million where ``size`` is the whole of it: what is compared is the time a byte."""
    return 1_000_000 * size // _SIZE


def _single_line(size: int) -> bytes:
    return _filled(b"all work and no play makes a long line ", size) + b"\n"


def _single_line_of_hits(size: int) -> bytes:
    return _filled(b"RuntimeError: CUDA error: NCCL WARN NVRM: Xid ", size) + b"\n"


def _nul_bytes(size: int) -> bytes:
    return _filled(b"\0\0\0\0" + _HIT + b"\0\0\0\n" + b"plain\0text\n" * 50, size)


def _invalid_utf8(size: int) -> bytes:
    return _filled(bytes(range(128, 256)) + b"\n" + b"\xff\xfe" + _HIT + b"\xc3\n" + b"\xf0\x9f\n" * 40, size)


def _carriage_returns(size: int) -> bytes:
    return _filled(b"Downloading:  12%|##   | 12/100 [00:10<01:00]\r", size)


def _identical_lines(size: int) -> bytes:
    return (_HIT + b"\n") * _million(size)


def _deep_json_line(size: int) -> bytes:
    return _filled(b'{"a":' * 2_000 + b"1" + b"}" * 2_000 + b"\n", size)


def _nested_ansi(size: int) -> bytes:
    return _filled(b"\x1b[1;31m\x1b[\x1b[0m\x1b]0;title\x1b\x1b[38;5;" + b"1;" * 200 + b"text\x1b\n", size)


def _regex_bait(size: int) -> bytes:
    bait = [b"a" * 3_000 + b"!", b"(" * 500 + b"Error" + b": " * 500, b"x.y." * 700 + b"Error", b"1:2:3:" * 600 + b"["]
    return _filled(b"\n".join(bait) + b"\n", size)


def _many_nodes(size: int) -> bytes:
    line = b"2026-06-01T03:14:02.000000+00:00 node-%07d kernel: " + _XID_79
    return b"".join(line % number for number in range(_million(size)))


def _clock_jumps(size: int) -> bytes:
    line = b"%04d-%02d-%02dT03:14:02.000000+00:00 node-0001 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU fault\n"
    count = size // 4 // len(line)
    return b"".join(line % (1970 + number * 37 % 200, number % 12 + 1, number % 28 + 1) for number in range(count))


def _yearless_over_new_year(size: int) -> bytes:
    line = b"%s %2d 23:59:%02d node-0001 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU fault\n"
    months = (b"Dec", b"Jan")
    return b"".join(
        line % (months[number % 2], number % 31 + 1, number % 60) for number in range(size // 4 // len(line))
    )


def _uptime_stamps(size: int) -> bytes:
    line = b"[%6d.%06d] NVRM: Xid (PCI:0000:3b:00): 31, pid=%d, MMU fault\n"
    return b"".join(line % (number % 999_999, number % 999_983, number) for number in range(size // 4 // len(line)))


def _outside_window(size: int) -> bytes:
    line = b"2019-06-01T03:%02d:%02d.000000+00:00 node-0001 kernel: " + _XID_79
    return b"".join(line % (number // 60 % 60, number % 60) for number in range(size // 4 // len(line)))


INPUTS: dict[str, tuple[Source, Callable[[int], bytes]]] = {
    "single_line_of_50_mb": (Source.APPLOG, _single_line),
    "single_line_of_hits": (Source.APPLOG, _single_line_of_hits),
    "nul_bytes": (Source.APPLOG, _nul_bytes),
    "invalid_utf8": (Source.APPLOG, _invalid_utf8),
    "carriage_returns_only": (Source.APPLOG, _carriage_returns),
    "a_million_identical_lines": (Source.APPLOG, _identical_lines),
    "deep_json_lines": (Source.APPLOG, _deep_json_line),
    "nested_ansi": (Source.APPLOG, _nested_ansi),
    "regex_bait": (Source.APPLOG, _regex_bait),
    "a_million_distinct_nodes": (Source.SYSLOG, _many_nodes),
    "clock_jumps": (Source.SYSLOG, _clock_jumps),
    "yearless_stamps_over_new_year": (Source.SYSLOG, _yearless_over_new_year),
    "dmesg_uptime_stamps": (Source.SYSLOG, _uptime_stamps),
    "lines_from_outside_the_window": (Source.SYSLOG, _outside_window),
}
"""Name → the source it is fed as, and a function from a size to its bytes."""


def _run(bench: Bench) -> Outcome:
    size = max(int(_SIZE * bench.scale), 1 << 16)
    ordinary = in_child(_ordinary, bench.cache, size)
    figures: dict[str, Any] = {"ordinary": ordinary}
    for name in INPUTS:
        figures[name] = _judged(_feed, ordinary, bench.cache, name, size)
    figures["deep_json_body"] = _judged(_feed_deep_body, ordinary, bench.cache, size)
    return Outcome(figures, all(row.get("met", True) for row in figures.values()))


def _judged(feed: Callable[..., dict[str, Any]], ordinary: dict[str, Any], *arguments: object) -> dict[str, Any]:
    """What feeding a hostile input cost, beside as many bytes of ordinary text; the verdict is part of both."""
    try:
        row = in_child(feed, *arguments, timeout=_PATIENCE)
    except (TimeoutError, EOFError) as error:
        return {"met": False, "error": f"{type(error).__name__}: {error}"}
    slower = round(row["cpu_s"] / row["bytes"] / (ordinary["cpu_s"] / ordinary["bytes"]), 1)
    return {**row, "times_ordinary": slower, "met": slower <= _SLOWER and row["memory_mib"] <= _MEBIBYTES}


def _ordinary(cache: Path, size: int) -> dict[str, Any]:
    engine = load_rules(cache)
    plan = engine.plans.of(Source.APPLOG)
    data = text(size, 0.01, hit_lines(plan), quiet_templates(plan))
    return _measured(cache, Source.APPLOG, data)


def _feed(cache: Path, name: str, size: int) -> dict[str, Any]:
    source, make = INPUTS[name]
    return _measured(cache, source, make(size))


def _measured(cache: Path, source: Source, data: bytes) -> dict[str, Any]:
    engine = load_rules(cache)
    engine.plans.of(source)
    with attributor(engine) as target, watch() as spent:
        ingest_text(target, data, source, "stream")
        verdict = target.attribute()
    figures = {"bytes": len(data), "cpu_s": round(spent.cpu, 3), "memory_mib": round(spent.grown)}
    return {**figures, "outcome": str(verdict.outcome)}


def _feed_deep_body(cache: Path, size: int) -> dict[str, Any]:
    """A request body nested a hundred thousand deep: refused, quickly."""
    load_rules(cache)
    depth = min(size // 4, 100_000)
    body = b'{"source": "applog", "entry_timeseries": ' + b"[" * depth + b"]" * depth + b"}"
    body += json.dumps("x" * (size - len(body))).encode() if size > len(body) else b""
    refused = "accepted"
    with watch() as spent:
        try:
            parse_observation(body)
        except ObservationError as error:
            refused = type(error).__name__
    return {"bytes": len(body), "cpu_s": round(spent.cpu, 3), "memory_mib": round(spent.grown), "outcome": refused}


SECTION = Section(
    "hostile",
    "each at most 20 times as long as the same number of ordinary bytes, and at most 300 MB of memory",
    _run,
)
