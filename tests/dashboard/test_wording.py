"""What pages say of the line that decided, and how texts of rules look on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_service.result import enrich_attribution_result
from dashboard.pages.templates import plain, prose
from http_kit import ENGINE
from site_kit import browser_of

if TYPE_CHECKING:
    from dashboard_kit import Shelf

XID = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def page(sqlite: Shelf, source: Source, text: str, **job: str) -> str:
    """The page of the verdict on one job with one file of evidence."""
    known = {"job_id": "1", "cluster": "c1", "nodes": ["n1"], "state": "FAILED", **job}
    with Attributor(JobInfoBuilder.from_mapping(known).build(), ENGINE()) as attributor:
        attributor.ingest(Observation(source, stream="a.log", text=text.encode()))
        raw = attributor.attribute()
    when = "2026-06-01T04:00:00Z"
    sqlite.put(enrich_attribution_result(raw, attributor_id="c1:1:0", run_id="r1", attributed_at=when))
    return browser_of(sqlite).page("/verdict/c1/1/0")


def time_on(text: str) -> str:
    """What stands beside the line's time, without tags."""
    found = re.search(r"<dt>Time \(UTC\)</dt><dd>(.*?)</dd>", text)
    assert found is not None
    return re.sub(r"<[^>]+>", "", found[1])


@pytest.mark.parametrize(
    ("source", "text", "job", "told"),
    [
        (Source.SYSLOG, f"Jun  1 03:14:02 n1 {XID}\n", {"start": "2026-06-01T00:00:00Z"}, "2026-06-01 03:14:02"),
        (
            Source.SYSLOG,
            f"Jun  1 03:14:02 n1 {XID}\n",
            {},
            "no time: its stamp names no year, and neither the job nor another line does",
        ),
        (
            Source.SYSLOG,
            f"[ 5234.123456] {XID.removeprefix('kernel: ')}\n",
            {},
            "no time: its stamp counts from a start of the node whose time is not known",
        ),
        (
            Source.APPLOG,
            f"[2026-06-01 03:14:02,123] [ERROR] step 7 failed\nTraceback (most recent call last):\n{OOM}\n",
            {},
            "no time: after a line that begins with [2026-06-01 03:14:02,123] [ERROR]",
        ),
        (Source.APPLOG, f"starting\n{OOM}\n", {}, "no time"),
    ],
    ids=["the job's year", "no year", "uptime", "traceback", "nothing"],
)
def test_the_time_of_the_line_or_why_there_is_none(
    sqlite: Shelf, source: Source, text: str, job: dict[str, str], told: str
) -> None:
    assert time_on(page(sqlite, source, text, **job)) == told


def test_lines_around_it_are_offered_where_there_are_some_and_a_file_nowhere(sqlite: Shelf) -> None:
    alone = page(sqlite, Source.APPLOG, f"{OOM}\n")
    assert '<a href="#root">Where it stands</a>' in alone
    assert 'aria-label="The line that decided"' in alone
    among = page(sqlite, Source.APPLOG, f"starting\n{OOM}\n")
    assert '<a href="#root">The lines around it</a>' in among
    assert 'aria-label="The line that decided and the lines around it"' in among
    assert "The line in its file" not in alone + among


@pytest.mark.parametrize("kind", ["text", "what text", "what"])
def test_code_in_a_rules_text_is_code_on_its_page(sqlite: Shelf, kind: str) -> None:
    """In what it says of itself, of its symptoms and of its cascades."""
    pages = {
        "text": "ContainerStorageExplainsUnkillable",
        "what text": "SlurmKillTaskFailed.reason",
        "what": "SlurmKillTaskFailed.reason",
    }
    text = browser_of(sqlite).page(f"/rules/{pages[kind]}")
    docs = "".join(re.findall(rf'<(?:p|td) class="{kind}">(.*?)</(?:p|td)>', text, re.DOTALL))
    assert "<code>" in docs
    assert "`" not in docs


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b` c", "a <code>b</code> c"),
        ("a ``b`` c", "a <code>b</code> c"),
        ("`<b>` & `c`", "<code>&lt;b&gt;</code> &amp; <code>c</code>"),
        ("one ` alone", "one ` alone"),
        ("`over\nlines`", "`over\nlines`"),
        ("`\x1b[31m`", r"<code>\x1b[31m</code>"),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, html: str) -> None:
    assert prose(text) == html


@given(st.text("`<>&\"'a\n\x1b\u202e"))
def test_the_only_tags_that_a_text_gets_are_ours(text: str) -> None:
    assert "<" not in re.sub(r"</?code>", "", prose(text))
    assert re.sub(r"</?code>|`", "", prose(text)) == plain(text).replace("`", "")
