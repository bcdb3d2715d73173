"""``loki`` against a server that answers as Loki's API documents: pages, equal instants, metadata, faults."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.log.loki import LokiLog, LokiSettings
from attribution_blueprint.connectors.log.loki_replies import read_streams
from attribution_blueprint.context import ExecutionContext
from attribution_blueprint.errors import CollectError, WebError
from replay_kit import Answer, Asked, replaying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.observation import Observation

START = 1_795_975_200
NANOS = 10**9
Line = tuple[int, str, dict[str, str]]


def context(**more: Any) -> ExecutionContext:
    job = {"job_id": "7", "name": 'a"b', "nodes": ["n-1", "n-2"], "margin_before": 0, "margin_after": 0}
    job |= {"start": "2026-11-29T18:00:00Z", "end": "2026-11-29T18:10:00Z"}
    return ExecutionContext.of(job | more, adapter="static")


def streams(lines: Sequence[Line], **more: Any) -> bytes:
    """Entries grouped by their labels; metadata of an entry stands third in its row."""
    grouped: dict[str, dict[str, Any]] = {}
    for stamp, line, labels in lines:
        own = {key.removeprefix("meta_"): value for key, value in labels.items() if key.startswith("meta_")}
        shared = {key: value for key, value in labels.items() if not key.startswith("meta_")}
        stream = grouped.setdefault(json.dumps(shared), {"stream": shared, "values": []})
        stream["values"].append([str(stamp), line, own] if own else [str(stamp), line])
    data = {"resultType": "streams", "result": list(grouped.values()), "stats": {}}
    return json.dumps({"status": "success", "data": data} | more).encode()


def loki(lines: Sequence[Line]) -> Any:
    """``query_range`` over these lines, as documented: start included, end not, forward, at most ``limit``."""

    def answer(asked: Asked, _: int) -> Answer:
        start, end, limit = (int(asked.query[name]) for name in ("start", "end", "limit"))
        fitting = sorted((line for line in lines if start <= line[0] < end), key=lambda line: line[0])
        return Answer(streams(fitting[:limit]))

    return answer


def collected(url: str, reasons: list[str], *, of: ExecutionContext | None = None, **chosen: Any) -> list[Observation]:
    given_ones = {"query": '{host=~"{nodes}"}', "request_seconds": 1, "tries": 2} | chosen
    collector = LokiLog("loki", LokiSettings(url=url, **given_ones), lambda: START + 7200)
    found = []
    try:
        for observation in collector.collect(of or context(), Budget.of(10)):
            found.append(observation)  # noqa: PERF402 -- what came before a failure counts
    except (CollectError, WebError) as error:
        reasons.append(str(error))
    return found


def texts(found: Sequence[Observation]) -> list[str]:
    return [line for observation in found for line in observation.entries.lines]


def test_nodes_and_window_are_pushed_down_and_read_forward() -> None:
    reasons: list[str] = []
    with replaying(loki([(START * NANOS, "hello", {"host": "n-1"})])) as server:
        (found,) = collected(server.url, reasons, tenant="team-a")
    (asked,) = server.asked
    assert reasons == []
    assert asked.query["query"] == r'{host=~"(?:n-1|n-2)(?:\\..*)?(?::\\d+)?"}'
    assert (asked.query["direction"], int(asked.query["start"])) == ("forward", START * NANOS)
    assert asked.headers["x-scope-orgid"] == "team-a"
    assert (found.entries.lines, found.entries.nodes) == (["hello"], ["n-1"])
    assert found.entries.stamps == [str(START * NANOS)]


def test_what_the_job_is_called_cannot_leave_its_quotes() -> None:
    with replaying(loki([])) as server:
        collected(server.url, [], query='{job="{name}"}')
    assert server.asked[0].query["query"] == r'{job="a\"b"}'


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=40), st.integers(2, 9))
def test_pages_bring_every_line_once(offsets: list[int], limit: int) -> None:
    """Unless one instant holds more than a page: then it is told."""
    lines = [(START * NANOS + offset, f"{offset}", {"host": "n-1"}) for offset in offsets]
    reasons: list[str] = []
    with replaying(loki(lines)) as server:
        found = texts(collected(server.url, reasons, limit=limit))
    if max((offsets.count(offset) for offset in offsets), default=0) < limit:
        assert sorted(found, key=int) == sorted(map(str, offsets), key=int)
        assert reasons == []
    else:
        assert len(found) == len(offsets) or "more than" in reasons[0]


def test_an_entry_s_own_labels_win_and_ranks_are_read() -> None:
    own = {"host": "n-1", "meta_node": "n-2", "meta_rank": "13"}
    with replaying(loki([(START * NANOS, "x", own)])) as server:
        (found,) = collected(server.url, [])
    assert (found.entries.nodes, found.entries.ranks) == (["n-2"], [13])


def test_loki_3_groups_structured_metadata() -> None:
    row = ["1", "x", {"structuredMetadata": {"rank": "3"}, "parsed": {"a": "b"}}]
    data = {"resultType": "streams", "result": [{"stream": {}, "values": [row]}]}
    ((entry,), _) = read_streams({"status": "success", "data": data}, ["node"], ["rank"])
    assert entry.rank == 3


def test_batches_are_bounded_and_their_lines_are_numbered_on() -> None:
    lines = [(START * NANOS + at, "x" * 1000, {"host": "n-1"}) for at in range(20)]
    with replaying(loki(lines)) as server:
        found = collected(server.url, [], batch_bytes=4000)
    assert [observation.first_line for observation in found] == [1, 5, 9, 13, 17]


def test_the_same_lines_come_out_the_same_in_another_run() -> None:
    lines = [(START * NANOS + at, f"{at}", {"host": "n-1"}) for at in range(30)]
    with replaying(loki(lines)) as server:
        first, second = collected(server.url, [], limit=7), collected(server.url, [], limit=7)
    assert first == second


def test_what_came_before_a_failure_counts() -> None:
    lines = [(START * NANOS + at, f"{at}", {"host": "n-1"}) for at in range(9)]

    def answer(asked: Asked, number: int) -> Answer:
        return loki(lines)(asked, number) if number == 0 else Answer(b"too many outstanding requests", 429)

    reasons: list[str] = []
    with replaying(answer) as server:
        found = collected(server.url, reasons, limit=5, batch_bytes=1)
    assert texts(found) == ["0", "1", "2", "3", "4"]
    assert "429 too many outstanding requests" in reasons[0]


def test_a_partial_answer_is_kept_and_told() -> None:
    reasons: list[str] = []
    with replaying(lambda *_: Answer(streams([(START * NANOS, "x", {})], warnings=["ingester-3 is away"]))) as server:
        assert texts(collected(server.url, reasons)) == ["x"]
    assert reasons == ["partial answer: ingester-3 is away"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"max entries limit per query exceeded, limit > max_entries_limit (9000 > 5000)", 400), "max entries"),
        (Answer(b"busy", 429, {"Retry-After": "0"}), "429"),
        (Answer(b"", 502), "502"),
        (Answer(streams([(START * NANOS, "x", {})]), cut=9), "IncompleteRead|Incomplete|bytes"),
        (Answer(streams([(START * NANOS, "x", {})])[:-9]), "not JSON"),
        (Answer(b"\xff\xfe{"), "not JSON"),
        (Answer(streams([]), after=3), "imed out|Timeout"),
        (Answer(b'{"status":"success","data":{"resultType":"matrix","result":[]}}'), "has to select log lines"),
        (Answer(b'{"status":"success","data":{"resultType":"streams","result":[{"stream":{}}]}}'), "without labels"),
    ],
)
def test_what_cannot_be_read_is_a_reason(answer: Answer, reason: str) -> None:
    reasons: list[str] = []
    with replaying(lambda *_: answer) as server:
        assert collected(server.url, reasons) == []
    assert re.search(reason, reasons[0])


def test_nothing_there_is_no_error() -> None:
    reasons: list[str] = []
    with replaying(loki([])) as server:
        assert collected(server.url, reasons) == []
    assert reasons == []


def test_a_query_by_nodes_needs_nodes() -> None:
    reasons: list[str] = []
    assert collected("http://127.0.0.1:9", reasons, of=context(nodes=[])) == []
    assert "nodes are not known" in reasons[0]
