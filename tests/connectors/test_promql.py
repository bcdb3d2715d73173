"""``promql`` against a server that answers as Prometheus documents; tests/prometheus has the real one."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.metric.promql import PromqlMetrics, PromqlSettings
from attribution_blueprint.connectors.metric.promql_queries import halves, read_reply, selectors, stretches
from attribution_blueprint.context import ExecutionContext
from attribution_blueprint.errors import CollectError, WebError
from replay_kit import Answer, Asked, replaying

if TYPE_CHECKING:
    from attribution_lib.observation import Observation

START = 1_795_975_200


def context(**more: Any) -> ExecutionContext:
    job = {"job_id": "7", "nodes": ["n-1", "n-2"], "margin_before": 0, "margin_after": 0}
    job |= {"start": "2026-11-29T18:00:00Z", "end": "2026-11-29T18:10:00Z"}
    return ExecutionContext.of(job | more, adapter="static")


def matrix(*series: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}} | more).encode()


TEMPERATURE = {"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": "n-1"}, "values": [[START, "71"]]}


def collected(url: str, reasons: list[str], *, seconds: float = 10, **settings: Any) -> list[Observation]:
    """What came; the reason of a failure is appended to ``reasons``."""
    chosen = {"metrics": "DCGM_FI_DEV_GPU_TEMP", "node_labels": "Hostname", "request_seconds": 1} | settings
    collector = PromqlMetrics("promql", PromqlSettings(url=url, **chosen), lambda: START + 7200)
    found = []
    try:
        for observation in collector.collect(context(), Budget.of(seconds)):
            found.append(observation)  # noqa: PERF402 -- what came before a failure counts
    except (CollectError, WebError) as error:
        reasons.append(str(error))
    return found


def test_the_job_s_nodes_and_window_are_pushed_down() -> None:
    reasons: list[str] = []
    with replaying(lambda *_: Answer(matrix(TEMPERATURE))) as server:
        (found,) = collected(server.url, reasons)
    (asked,) = server.asked
    assert reasons == []
    assert (asked.method, asked.path) == ("POST", "/api/v1/query_range")
    assert (int(asked.query["start"]), int(asked.query["end"])) == (START, START + 600)
    assert "n-1|n-2" in asked.query["query"]
    assert found.series[0].samples == [(START * 1_000_000, 71.0)]


def test_only_metrics_that_some_rule_names_are_asked_for() -> None:
    with replaying(lambda *_: Answer(matrix())) as server:
        collected(server.url, [], metrics="")
    names = re.search(r'__name__=~"([^"]*)"', server.asked[0].query["query"])
    assert names is not None
    assert "DCGM_FI_DEV_XID_ERRORS" in names[1].split("|")


def test_which_metrics_those_are_says_the_service() -> None:
    def answer(asked: Asked, _: int) -> Answer:
        return Answer(b'{"metrics": ["only_this"]}') if asked.path == "/v2/rules" else Answer(matrix())

    with replaying(answer) as server:
        collected(server.url, [], metrics="", rules_url=server.url)
    assert '__name__=~"only_this"' in server.asked[1].query["query"]


def test_the_service_that_says_which_metrics_may_ask_for_a_token_of_its_own() -> None:
    def answer(asked: Asked, number: int) -> Answer:
        if asked.path != "/v2/rules":
            return Answer(matrix())
        return Answer(b'{"title": "Unauthorized"}', 401) if number == 0 else Answer(b'{"metrics": ["only_this"]}')

    with replaying(answer) as server:
        token = {"rules_auth": "bearer", "rules_token_command": "echo,s3cret"}
        collected(server.url, [], metrics="", rules_url=server.url, **token)
    assert [asked.headers.get("authorization") for asked in server.asked[:3]] == ["Bearer s3cret"] * 2 + [None]


@pytest.mark.parametrize("answer", [Answer(b"busy", 503), Answer(b"<html>"), Answer(b'{"metrics": 7}')])
def test_a_service_that_does_not_say_is_named(answer: Answer) -> None:
    reasons: list[str] = []
    with replaying(lambda *_: answer) as server:
        assert collected(server.url, reasons, metrics="", rules_url=server.url, tries=1) == []
    assert f"{server.url}/v2/rules: " in reasons[0]


def test_a_long_window_is_asked_for_in_stretches_without_a_point_twice() -> None:
    with replaying(lambda *_: Answer(matrix())) as server:
        collected(server.url, [], step=1, points=100)
    asked = [(int(one.query["start"]), int(one.query["end"])) for one in server.asked]
    assert asked[0] == (START, START + 99)
    assert all(later[0] == earlier[1] + 1 for earlier, later in itertools.pairwise(asked))
    assert asked[-1][1] == START + 600


def test_what_is_too_much_for_the_server_is_asked_for_in_halves() -> None:
    def answer(asked: Asked, _: int) -> Answer:
        if int(asked.query["end"]) - int(asked.query["start"]) > 200:
            error = b'{"status":"error","errorType":"execution","error":"query processing would load too many samples"}'
            return Answer(error, status=422)
        return Answer(matrix(TEMPERATURE))

    reasons: list[str] = []
    with replaying(answer) as server:
        found = collected(server.url, reasons)
    assert reasons == []
    assert len(found) == 4


def test_a_partial_answer_is_kept_and_told() -> None:
    reasons: list[str] = []
    warning = "No StoreAPIs matched for this query"
    with replaying(lambda *_: Answer(matrix(TEMPERATURE, warnings=[warning]))) as server:
        found = collected(server.url, reasons)
    assert len(found) == 1
    assert reasons == [f"partial answer: {warning}"]


def test_a_busy_server_is_asked_again_after_the_pause_it_names() -> None:
    def answer(_: Asked, number: int) -> Answer:
        return Answer(b"slow down", 429, {"Retry-After": "1"}) if number == 0 else Answer(matrix(TEMPERATURE))

    reasons: list[str] = []
    with replaying(answer) as server:
        assert len(collected(server.url, reasons)) == 1
    assert reasons == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b'{"status": "success", "data"'), "not JSON"),
        (Answer(matrix(TEMPERATURE), cut=20), "IncompleteRead|IncompleteMessage|bytes"),
        (Answer(b"\xff\xfe\x00"), "not JSON"),
        (Answer(b"no", 403), "403"),
        (Answer(b"broken", 500), "500"),
        (Answer(matrix(TEMPERATURE), after=3), "Timeout|timed out"),
        (Answer(b'{"status":"success","data":{"resultType":"vector","result":[]}}'), "expected a matrix"),
        (Answer(matrix({"metric": {"a": 1}, "values": 7})), "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_a_reason(answer: Answer, reason: str) -> None:
    reasons: list[str] = []
    with replaying(lambda *_: answer) as server:
        assert collected(server.url, reasons, tries=2) == []
    assert re.search(reason, reasons[0])


def test_nothing_there_is_no_error() -> None:
    reasons: list[str] = []
    with replaying(lambda *_: Answer(matrix())) as server:
        assert collected(server.url, reasons) == []
    assert reasons == []


def test_a_job_without_nodes_is_not_asked_for_the_whole_cluster() -> None:
    collector = PromqlMetrics("promql", PromqlSettings(url="http://127.0.0.1:9", metrics="up"))
    with pytest.raises(CollectError, match="nodes are not known"):
        list(collector.collect(context(nodes=[]), Budget.of(1)))


def test_no_series_fits_the_selectors_of_two_labels() -> None:
    first, second = selectors(["up"], ["n.1"], ["Hostname", "node"])
    assert first == r'{__name__=~"up",Hostname=~"(?:n\\.1)(?:\\..*)?(?::\\d+)?"}'
    assert r'Hostname!~"(?:n\\.1)' in second


@given(st.integers(0, 10**9), st.integers(0, 2000), st.integers(1, 300), st.integers(2, 500))
def test_stretches_cover_the_window_once(start: int, length: int, step: int, points: int) -> None:
    cut = stretches(start, start + length, step, points)
    times = [at for one in cut for at in range(one.start, one.end + 1, step)]
    assert times == list(range(start // step * step, start + length + 1, step))
    for one in cut:
        if one.points > 1:
            assert sum(half.points for half in halves(one)) == one.points


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda part: (
            st.lists(part)
            | st.dictionaries(st.sampled_from(["status", "data", "result", "metric", "values", "x"]), part)
        ),
    )
)
def test_any_reply_is_read_or_refused(reply: Any) -> None:
    with pytest.raises(CollectError):
        read_reply(reply)
