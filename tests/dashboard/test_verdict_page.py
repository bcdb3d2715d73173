"""The page of one verdict: the answer in words, the picture within its bounds, hostile text as text."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_service.model import VerdictKey
from attribution_service.result import (
    ConnectorReport,
    ConnectorStatus,
    EvidenceStatus,
    IngestionReport,
    enrich_attribution_result,
)
from dashboard.building.chain import chain_picture
from dashboard.building.coverage import coverage_of
from dashboard.building.headline import headline_of
from dashboard.building.markdown import code, fenced, plain
from dashboard.building.pairs import pair_matrix
from dashboard.building.verdict import verdict_context
from dashboard.building.words import symptom_words
from dashboard.contexts.chain import MAX_EDGES, MAX_LANES, MAX_MARKS, LaneKind
from dashboard.site import Site
from dashboard_kit import HARDWARE, Failure, sample_verdict
from http_kit import ENGINE, ROOT
from service_kit import START

if TYPE_CHECKING:
    from attribution_lib.verdict import ChainRow
    from attribution_service.result import EnrichedVerdict
    from dashboard.contexts.chain import ChainPicture
    from dashboard.contexts.verdict import VerdictContext
    from dashboard_kit import Shelf

NVSWITCH = "nvswitch-sxid-then-xid74-and-gsp-timeouts"


def page_of(sqlite: Shelf, verdict: EnrichedVerdict) -> VerdictContext:
    sqlite.put(verdict)
    key = VerdictKey(cluster=verdict.job["cluster"], job_id=verdict.job["job_id"], attempt=verdict.job["attempt"])
    return verdict_context(Site(sqlite.reader, lambda: START, ENGINE), key)


def test_the_answer_is_in_words_a_person_would_use(sqlite: Shelf) -> None:
    page = page_of(sqlite, sample_verdict(HARDWARE))
    assert page.headline.what == "GPU has fallen off the bus (Xid 79) on node-0001."
    assert page.headline.owner == "A physical part failed: whoever repairs the machines."
    assert page.headline.certainty.startswith("High confidence; it rests on line ")
    assert page.headline.next_step.startswith("Take node-0001 out and inspect. The vendor says:")


def test_a_lost_node_is_no_broken_part_and_not_sure_for_a_reason() -> None:
    headline = headline_of(sample_verdict("node-down-empty-logs-admin-rebooted"))
    assert headline.owner.startswith("A node was lost, and no part of it is named")
    assert headline.certainty.startswith("Medium confidence: a crash, power, the network and")


@pytest.mark.parametrize(
    ("symptom", "words"),
    [
        ("XID-79-GPU_HAS_FALLEN_OFF_THE_BUS", "GPU has fallen off the bus (Xid 79)"),
        ("SXID-20034-LTSSM_FAULT_UP", "Ltssm fault up (SXid 20034)"),
        ("XID-74-NVLINK_ERROR", "NVLINK error (Xid 74)"),
        ("CUDA out of memory", "CUDA out of memory"),
    ],
)
def test_symptoms_are_said_in_words(symptom: str, words: str) -> None:
    assert symptom_words(symptom) == words


@pytest.mark.parametrize("slug", sorted(path.name for path in (ROOT / "samples" / "cases").iterdir())[::7])
def test_every_sample_has_an_answer_and_a_picture(slug: str) -> None:
    verdict = sample_verdict(slug)
    headline, picture = headline_of(verdict), chain_picture(verdict)
    assert all(text.endswith(".") for text in (headline.what, headline.owner, headline.certainty))
    assert headline.next_step
    within_bounds(picture)
    assert any(mark.state == "root" for mark in picture.marks) == any(row.state == "root" for row in verdict.chain)


def test_the_root_line_stands_in_its_file(sqlite: Shelf) -> None:
    page = page_of(sqlite, sample_verdict(NVSWITCH))
    assert page.root is not None
    assert (page.root.line.number, page.root.stream, page.root.rule_known) == (2, "syslog.log", True)
    file = (ROOT / "samples" / "cases" / NVSWITCH / "syslog.log").read_text().splitlines()
    for line in (*page.root.before, page.root.line, *page.root.after):
        assert line.number is not None
        assert file[line.number - 1] == line.text
    assert page.root.context_note == ""


def test_a_root_without_lines_around_it_says_so(sqlite: Shelf) -> None:
    verdict = sample_verdict(HARDWARE)
    assert verdict.root_cause is not None
    alone = verdict.root_cause.model_copy(update={"context": type(verdict.root_cause.context)()})
    page = page_of(sqlite, verdict.model_copy(update={"root_cause": alone}))
    assert page.root is not None
    assert page.root.context_note.startswith("The verdict keeps no lines around this one")
    for source, word in (("scheduler", "scheduler's word"), ("node_metrics", "metric")):
        moved = alone.model_copy(update={"source": source})
        again = page_of(sqlite, verdict.model_copy(update={"root_cause": moved}))
        assert again.root is not None
        assert word in again.root.context_note


def test_the_table_says_who_discarded_what_and_why(sqlite: Shelf) -> None:
    rows = {row.symptom: row for row in page_of(sqlite, sample_verdict(NVSWITCH)).symptoms if row.state != "root"}
    nvlink = rows["XID-74-NVLINK_ERROR"]
    assert (nvlink.state, nvlink.changed_by) == ("discarded", "NvswitchFaultAtGpus")
    assert nvlink.reason == (
        "Discarded by NvswitchFaultAtGpus. Nport sourcetrack sourcetrack time out err (SXid 24007) explains it. "
        "A fatal NVSwitch error takes links down: the GPUs at their other ends report XID 74."
    )
    assert rows["GSP firmware fault"].reason == "Not explained by anything that was seen."
    assert rows["Scheduler state FAILED"].reason == "How the scheduler says that the job ended."
    again = next(row for name, row in rows.items() if name.startswith("SXID-24007"))
    assert again.reason == "The root's symptom once more, read from other lines."


def test_the_picture_leads_from_the_root_to_its_consequences() -> None:
    picture = chain_picture(sample_verdict(NVSWITCH))
    marks = {mark.id: mark for mark in picture.marks}
    roots = [mark for mark in picture.marks if mark.state == "root"]
    assert len(roots) == 1
    explained = " ".join(marks[edge.target].label for edge in picture.edges if edge.source == roots[0].id)
    assert "GSP RPC timeout (Xid 119)" in explained
    assert "NVLINK error (Xid 74)" in explained
    assert picture.lanes[0].label == "node-0119"
    assert picture.lanes[0].bad
    assert roots[0].lane == 0
    assert [tick.x for tick in picture.ticks] == sorted(tick.x for tick in picture.ticks)
    assert picture.summary.startswith(
        "The root is Nport sourcetrack sourcetrack time out err (SXid 24007) on node-0119"
    )
    assert picture.omitted == ""


def within_bounds(picture: ChainPicture) -> None:
    lanes, ids = len(picture.lanes), {mark.id for mark in picture.marks}
    assert lanes <= MAX_LANES
    assert len(picture.marks) <= MAX_MARKS
    assert len(picture.edges) <= MAX_EDGES
    assert len(picture.ticks) <= 9
    assert [lane.index for lane in picture.lanes] == list(range(lanes))
    for mark in picture.marks:
        assert 0 <= mark.x <= mark.x_end <= 1
        assert mark.lane in mark.lanes
        assert max(mark.lanes) < lanes
        assert len(mark.evidence) <= 200
    assert all({edge.source, edge.target} <= ids and edge.source != edge.target for edge in picture.edges)


@given(st.integers(0, 2**32), st.integers(0, 500), st.booleans())
def test_a_picture_has_bounds_whatever_the_chain(seed: int, count: int, timed: bool) -> None:  # noqa: FBT001 -- drawn
    dice = random.Random(seed)  # noqa: S311 -- a test's dice
    verdict = sample_verdict(HARDWARE)
    head = verdict.chain[0]
    rows: list[ChainRow] = []
    for number in range(count):
        at = f"2026-06-0{dice.randrange(1, 9)}T{dice.randrange(24):02d}:00:00.000000Z" if timed else None
        changed = {
            "at": at if dice.random() < 0.9 else None,
            "node": dice.choice([None, f"node-{dice.randrange(10_000):05d}"]),
            "nodes": dice.choice([0, 1, 2, 40, 10_000]),
            "symptom": f"symptom {dice.randrange(300)}",
            "state": "root" if number == 0 else dice.choice(["remaining", "demoted", "discarded"]),
            "explained_by": dice.choice([None, f"symptom {dice.randrange(300)}"]),
        }
        rows.append(head.model_copy(update=changed))
    picture = chain_picture(verdict.model_copy(update={"chain": rows, "symptoms": []}))
    within_bounds(picture)
    assert bool(rows) == any(mark.state == "root" for mark in picture.marks)
    drawn = sum(1 + mark.merged for mark in picture.marks)
    assert drawn == count or "Not drawn" in picture.omitted


@pytest.fixture(scope="module")
def wide() -> EnrichedVerdict:
    """A job of 10,000 nodes: one GPU falls off the bus, every node's log has something to say."""
    nodes = [f"node-{number:05d}" for number in range(10_000)]
    job = JobInfoBuilder.from_mapping(
        {
            "job_id": "wide",
            "cluster": "c1",
            "scheduler": "slurm",
            "state": "FAILED",
            "exit_code": "1:0",
            "nodes": nodes,
            "start": "2026-06-01T03:00:00Z",
            "end": "2026-06-01T04:00:00Z",
        }
    ).build()
    lines = [
        "2026-06-01T03:30:00Z node-00417 kernel: NVRM: Xid (PCI:0000:4b:00): 79, pid=1, GPU has fallen off the bus."
    ]
    for number, node in enumerate(nodes):
        stamp = f"2026-06-01T03:{31 + number % 20}:{number % 60:02d}Z"
        lines.append(
            f"{stamp} {node} kernel: NVRM: Xid (PCI:0000:4b:00): {(45, 74, 31, 13)[number % 4]}, pid=1, Ch 00000008"
        )
    with Attributor(job, ENGINE()) as attributor:
        attributor.ingest(Observation(Source.SYSLOG, stream="syslog", text="\n".join(lines).encode()))
        raw = attributor.attribute()
    return enrich_attribution_result(raw, attributor_id="a", run_id="r", attributed_at="2026-06-01T05:00:00Z")


def test_ten_thousand_nodes_make_a_page_of_bounded_size(sqlite: Shelf, wide: EnrichedVerdict) -> None:
    assert len(wide.job["nodes"]) == 10_000
    page = page_of(sqlite, wide)
    within_bounds(page.chain)
    assert len(page.model_dump_json()) < 500_000
    assert page.job.node_list == "node-[00000-09999]"
    assert any(lane.kind is LaneKind.SEVERAL for lane in page.chain.lanes)
    assert len(page.bad_nodes) <= 100


def test_coverage_names_what_was_not_read() -> None:
    reports = [
        ConnectorReport(
            connector="file", instance="app", source="applog", status=ConnectorStatus.OK, observation_count=1, lines=7
        ),
        ConnectorReport(
            connector="loki",
            instance="kernel",
            source="syslog",
            status=ConnectorStatus.ERROR,
            observation_count=0,
            lines=0,
            reason="refused: 403",
        ),
    ]
    lost = IngestionReport(
        connector="file", instance="app", delivered=0, duplicates=0, conflicts=0, failed=2, last_error="x"
    )
    partial = {"connector_reports": reports, "ingestion_reports": [lost], "evidence_status": EvidenceStatus.PARTIAL}
    found = coverage_of(sample_verdict(HARDWARE).model_copy(update=partial))
    assert found.missing
    assert found.sentence == "Not everything was read: app and kernel. What it holds may change the verdict."
    assert [(entry.instance, entry.missing, entry.sentence) for entry in found.connectors] == [
        ("app", True, "Read 7 lines. 2 batches did not arrive: x."),
        ("kernel", True, "Not read: refused: 403."),
    ]
    none = coverage_of(sample_verdict(HARDWARE).model_copy(update={"evidence_status": EvidenceStatus.NONE}))
    assert none.missing
    assert "rests on what the scheduler says" in none.sentence
    assert "scheduler" in found.absent_sources or "applog" in found.absent_sources


def test_pairs_become_a_matrix_that_says_where_to_look() -> None:
    rows = [{"src_node": "a", "dst_node": name, "count": 2, "hca": "mlx5_0", "status": 12} for name in "bcd"]
    rows.append({"src_ip": "10.0.0.9", "dst_node": None, "dst_ip": None})
    matrix = pair_matrix({"bad_pairs": rows})
    assert matrix is not None
    assert matrix.hosts[0] == "a"
    assert matrix.summary == "3 of 4 pairs have a in common: look there first."
    assert {(matrix.hosts[cell.row], matrix.hosts[cell.column]): cell.weight for cell in matrix.cells}["a", "b"] == 1.0
    assert (matrix.rows[0].hca, matrix.rows[0].status, matrix.rows[3].target) == ("mlx5_0", "12", "unknown host")
    assert pair_matrix({}) is None
    many = pair_matrix({"bad_pairs": [{"src_node": f"n{i}", "dst_node": f"m{i}"} for i in range(500)]})
    assert many is not None
    assert (len(many.hosts), len(many.rows), many.total) == (32, 100, 500)
    assert many.omitted == "Not shown: 968 hosts and 400 pairs of the table."
    assert "share no end" in many.summary


def test_an_older_run_says_that_it_is_not_in_force(sqlite: Shelf) -> None:
    early = Failure("1", run_id="a", at=START - 60).verdict()
    sqlite.put(early)
    sqlite.put(Failure("1", run_id="b").verdict())
    site = Site(sqlite.reader, lambda: START)
    page = verdict_context(site, VerdictKey(cluster="c1", job_id="1", attempt=0, run_id="a"))
    assert not page.run.latest
    assert any("later run" in notice.text for notice in page.notices)
    assert [(link.run_id, link.latest, link.shown) for link in page.run.runs] == [
        ("b", True, False),
        ("a", False, True),
    ]
    assert page.versions.same_rules is None


HOSTILE = "<script>alert(1)</script> ``` ![x](javascript:1) | @team #1 \x1b[31m\x00\u202e`` " + "A" * 10_000


def test_the_ticket_holds_hostile_lines_as_text(sqlite: Shelf) -> None:
    failure = Failure("1", evidence=HOSTILE, symptom="<b>bold</b> *x*", bad=("node-0001",), user="a`b")
    page = page_of(sqlite, failure.verdict())
    html = MarkdownIt("commonmark").render(page.markdown)
    assert "<script>" not in html
    assert "<img" not in html
    assert "<b>" not in html
    assert "<em>x" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ```" in html
    assert "\x1b" not in page.markdown
    assert "\u202e" not in page.markdown
    assert len(page.markdown) < 6_000


@given(st.text(max_size=200))
def test_no_text_leaves_its_span_or_fence(text: str) -> None:
    render = MarkdownIt("commonmark").render
    assert render(f"x {code(text)} y").count("<code>") == 1
    assert render("\n".join([*fenced([text]), "after"])).endswith("<p>after</p>\n")
    assert render(f"- {plain(text) or 'x'}").count("<") == 4
    shown = render(f"x {plain(text)} y")
    assert shown.startswith("<p>x ")
    assert shown.count("<") == 2
