"""Golden lines stand in ``data/prefix_lines.tsv``: real prefixes, one row a line, ``▶`` where the message begins."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from attribution_lib.events.event import Clock
from attribution_lib.observation import Source
from attribution_lib.text import prefixes
from attribution_lib.text.prefix_app import APPLICATION_FORMS
from attribution_lib.text.prefix_system import SYSTEM_FORMS
from attribution_lib.text.prefixes import Prefix, parse_prefix

APP, SYS = Source.APPLOG, Source.SYSLOG


class Row(NamedTuple):
    form: str
    source: str
    line: str
    time: str
    facts: str


def golden_rows() -> list[Row]:
    text = (Path(__file__).parent / "data" / "prefix_lines.tsv").read_text(encoding="utf-8")
    return [Row(*line.split("\t")) for line in text.splitlines()[1:]]


def facts(prefix: Prefix) -> str:
    default = Prefix()
    told = [
        f"{name}={value}"
        for name, value in prefix._asdict().items()
        if name not in {"timestamp", "clock", "body_start"} and value != getattr(default, name)
    ]
    return " ".join(told) or "-"


def written(prefix: Prefix) -> str:
    if prefix.timestamp is None:
        return "-"
    if prefix.clock is Clock.UPTIME:
        return f"uptime {prefix.timestamp / 1e6:.6f}"
    moment = datetime.fromtimestamp(prefix.timestamp // 1_000_000, tz=UTC)
    fraction = f".{prefix.timestamp % 1_000_000:06d}" if prefix.timestamp % 1_000_000 else ""
    return f"{prefix.clock} {moment:%Y-%m-%d %H:%M:%S}{fraction}"


@pytest.mark.parametrize("row", golden_rows(), ids=lambda row: f"{row.form}: {row.line[:40]}")
def test_a_prefix_tells_time_place_and_where_the_message_begins(row: Row) -> None:
    line = row.line.replace("▶", "")
    prefix = parse_prefix(line, Source(row.source))
    marked = line[: prefix.body_start] + "▶" + line[prefix.body_start :]
    assert (marked, written(prefix), facts(prefix)) == (row.line, row.time, row.facts)


def test_every_form_has_one_name_a_golden_line_and_a_row_in_the_docs() -> None:
    names = [form.name for form in (*SYSTEM_FORMS, *APPLICATION_FORMS)]
    assert len(names) == len(set(names))
    assert {row.form for row in golden_rows()} == {*names, "(JSON)"}
    assert prefixes.__doc__ is not None
    rows = prefixes.__doc__.splitlines()
    assert [name for name in names if not any(row.startswith(f"    {name} ") for row in rows)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):",
        "RuntimeError: CUDA error: unknown error",
        '  File "train.py", line 12, in <module>',
        "python3: can't open file 'train.py'",
        "epoch-3: loss 2.1",
        "1073741824 bytes allocated",
        "train.py:12: UserWarning: x",
        "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 33 LTSSM Fault Up",
        "[0]:",
        "[c10d] The server socket has failed",
        "[Errno 28] No space left on device",
        "[warmup 1] state_ok=False",
        "12:30 is no label",
        "node-0012 is down",
        "(None, 'x')",
        "<NO_OTHER_FAILURES>",
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x42",
        "16%|█▋        | 4083/25120 [3:02:19<16:33:47,  2.83s/it]",
        "",
        " ",
    ],
)
def test_a_message_is_not_mistaken_for_a_prefix(text: str) -> None:
    assert parse_prefix(text, APP) == Prefix()


def test_the_kernel_s_words_are_not_mistaken_for_a_level_or_a_host() -> None:
    prefix = parse_prefix("[ 1.000001] INFO: task jfsmount:136986 blocked for more than 120 seconds.", SYS)
    assert prefix.body_start == len("[ 1.000001] ")
    assert parse_prefix("nvme nvme4: Disabling device after reset failure: -19", SYS) == Prefix()


def test_a_date_that_does_not_exist_is_skipped_without_a_time() -> None:
    prefix = parse_prefix("[2026-02-31 10:00:00] ERROR: x", APP)
    assert (prefix.timestamp, prefix.clock, prefix.body_start) == (
        None,
        Clock.NONE,
        len("[2026-02-31 10:00:00] ERROR: "),
    )


def test_the_better_clock_wins_and_among_equals_the_outer_one() -> None:
    outer = "2026-01-05T10:11:12Z [rank0]:[W1004 15:16:15.503072590 ProcessGroupNCCL.cpp:1479] x"
    assert written(parse_prefix(outer, APP)) == "utc 2026-01-05 10:11:12"
    inner = "Jan  5 10:11:12 node-a app[1]: 2026-01-05T10:11:11Z x"
    assert written(parse_prefix(inner, SYS)) == "utc 2026-01-05 10:11:11"
