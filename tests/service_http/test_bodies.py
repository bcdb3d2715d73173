"""Bodies: compressed or not, cut off, too large, hostile; and ids that are none."""

from __future__ import annotations

import base64
import gzip
import json
import time
import tracemalloc
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.parsing.limits import Limits
from attribution_service.settings import ServiceLimits, Settings
from http_kit import JOB, JSON, SESSION, invoke, observation, running

if TYPE_CHECKING:
    from pathlib import Path

    from http_kit import Api, Reply

NDJSON = {"Content-Type": "application/x-ndjson"}
SMALL = ServiceLimits(
    observation=Limits(wire_bytes=2_000, inline_bytes=4_000, upload_bytes=5_000, entries=10),
    observations_per_session=3,
    request_bytes=2_000,
)


def post(api: Api, body: bytes, **headers: str) -> Reply:
    return api("POST", f"{SESSION}/observation", body, **{**JSON, **headers})


def test_gzip_is_told_by_its_first_bytes_whatever_the_header_says(api: Api) -> None:
    api.open()
    plain = json.dumps(observation("one", "two")).encode()
    assert post(api, gzip.compress(plain), Content_Encoding="gzip").json["lines"] == 2
    unpacked = post(api, plain, Content_Encoding="gzip")  # as a gateway that unpacks hands it over
    assert (unpacked.status, unpacked.slug) == (409, "duplicate-observation")
    assert post(api, gzip.compress(plain)).slug == "duplicate-observation"


def test_the_body_of_an_event_may_be_text_or_base64(api: Api) -> None:
    api.open()
    plain = json.dumps(observation("a line with ümlauts"))
    event: dict[str, Any] = {
        "resource": "/v2/attributor/{attributor_id}/observation",
        "path": f"{SESSION}/observation",
        "httpMethod": "POST",
        "headers": JSON,
        "requestContext": {"requestId": "r-1", "path": f"{SESSION}/observation", "stage": "prod"},
        "body": plain,
        "isBase64Encoded": False,
    }
    assert api.host is not None
    assert invoke("ingest", event, api.host)["statusCode"] == 201
    coded = {**event, "body": base64.b64encode(plain.encode()).decode(), "isBase64Encoded": True}
    assert invoke("ingest", coded, api.host)["statusCode"] == 409
    broken = invoke("ingest", {**coded, "body": "%%%"}, api.host)
    assert (broken["statusCode"], "Base64" in broken["body"]) == (422, True)


def test_json_requests_may_be_compressed_too(api: Api) -> None:
    body = gzip.compress(json.dumps({"job": JOB}).encode())
    assert api("POST", "/v2/attributor", body, **JSON, Content_Encoding="gzip").status == 201


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_a_body_that_is_cut_off_is_refused(api: Api, cut: int) -> None:
    api.open()
    packed = gzip.compress(json.dumps(observation(*map(str, range(200)))).encode())
    refused = post(api, packed[:-cut])
    assert (refused.status, refused.slug) == (422, "invalid-request")


def test_ndjson_is_taken_and_a_broken_line_is_named(api: Api) -> None:
    api.open()
    head = b'{"source":"applog","format":"text","stream":"b"}\n'
    path = f"{SESSION}/observation"
    assert api("POST", path, head + b'"one"\n{"line":"two"}\n', **NDJSON).json["lines"] == 2
    broken = api("POST", path, head + b'"one"\n{"line":\n', **NDJSON)
    assert (broken.status, "line 3" in broken.json["faults"][0]["field"]) == (422, True)


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_another_media_type_is_refused_by_name(api: Api, kind: str) -> None:
    api.open()
    for method, path in (("POST", f"{SESSION}/observation"), ("PUT", f"{SESSION}/job"), ("POST", "/v2/attributor")):
        refused = api(method, path, b"{}", Content_Type=kind)
        assert (refused.status, refused.slug) == (415, "unsupported-media-type")


def test_another_encoding_than_gzip_is_refused(api: Api) -> None:
    api.open()
    assert post(api, b"{}", Content_Encoding="br").slug == "unsupported-media-type"


def sized(size: int) -> bytes:
    """An observation of exactly so many bytes."""
    frame = len(json.dumps(observation("")))
    return json.dumps(observation("x" * (size - frame))).encode()


def test_limits_hold_at_and_one_over(folder: Path) -> None:
    with running(folder, settings=Settings(limits=SMALL)) as api:
        api.open()
        assert post(api, sized(2_000)).status == 201
        over = post(api, sized(2_001))
        assert (over.status, over.slug, over.json["limit"]) == (413, "too-large", 2_000)
        assert "upload" in over.json["upload"]
        assert post(api, gzip.compress(sized(4_000))).status == 201
        assert post(api, gzip.compress(sized(4_001))).slug == "too-large"
        assert api.observe(*"0123456789").status == 201
        assert api.observe(*"0123456789x").status in (413, 422)
        full = api.observe("the fourth")
        assert full.status in (413, 422), "a session takes three observations here"
        assert api.observe(*"0123456789").slug == "duplicate-observation", "a full session still knows what it has"
        announced = {"source": "applog", "format": "text", "sha256": "0" * 64}
        assert api("POST", f"{SESSION}/observation/upload", {**announced, "size": 5_000}).status == 201
        assert api("POST", f"{SESSION}/observation/upload", {**announced, "size": 5_001}).slug == "too-large"
        wide = {**JOB, "job_id": "wide", "name": "x" * 2_000}
        assert api.open(wide).slug == "too-large"


def test_the_limits_of_the_contract_are_the_defaults() -> None:
    limits = ServiceLimits()
    assert (limits.observation.wire_bytes, limits.observation.inline_bytes) == (4_500_000, 64 << 20)
    assert (limits.observation.upload_bytes, limits.observation.entries) == (1 << 30, 500_000)
    assert (limits.json_depth, limits.observations_per_session, limits.page_max) == (16, 20_000, 500)
    assert (limits.ttl_min, limits.ttl_max, limits.ttl_default) == (60, 7 * 86_400, 86_400)


@pytest.mark.parametrize(("ttl", "status"), [(59, 422), (60, 201), (7 * 86_400, 201), (7 * 86_400 + 1, 422)])
def test_a_session_lives_between_a_minute_and_a_week(api: Api, ttl: int, status: int) -> None:
    assert api.open(ttl_seconds=ttl).status == status


@pytest.mark.parametrize(("limit", "status"), [("0", 422), ("1", 200), ("500", 200), ("501", 422), ("x", 422)])
def test_a_page_has_one_to_five_hundred_items(api: Api, limit: str, status: int) -> None:
    assert api("GET", f"/v2/attributor?limit={limit}").status == status
    assert api("GET", f"/v2/verdict?limit={limit}").status == status


@pytest.mark.parametrize("query", ["colour=red", "limit=1&limit=2", "cursor=nonsense", "run_id=x"])
def test_parameters_that_are_unknown_repeated_or_made_up_are_refused(api: Api, query: str) -> None:
    refused = api("GET", f"/v2/attributor?{query}")
    assert (refused.status, refused.slug) == (422, "invalid-request")


@pytest.mark.parametrize("nodes", [20_000, 20_001])
def test_a_job_has_at_most_twenty_thousand_nodes(api: Api, nodes: int) -> None:
    opened = api.open({**JOB, "nodes": f"n[1-{nodes}]"})
    assert opened.status == (201 if nodes == 20_000 else 422)


def test_a_bomb_is_refused_fast_and_in_little_memory(api: Api) -> None:
    api.open()
    machine = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    bomb = b"".join([*(machine.compress(block) for _ in range(200)), machine.flush()])
    post(api, sized(500))  # whatever is loaded on the way is loaded
    tracemalloc.start()
    started = time.process_time()  # of this process alone: a busy machine is no slow refusal
    refused = post(api, bomb)
    elapsed = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (refused.status, refused.slug) == (413, "too-large")
    assert elapsed < 1.0
    assert peak < 150_000_000


@pytest.mark.parametrize("depth", [17, 1_000, 100_000])
@pytest.mark.parametrize("kind", ["[", '{"a":'])
def test_deep_json_is_refused_everywhere(api: Api, depth: int, kind: str) -> None:
    api.open()
    close = "]" if kind == "[" else "}"
    bomb = kind * depth + "1" + close * depth
    head = '{"source":"applog","format":"text","entry_timeseries":'
    for method, path, body in (
        ("POST", "/v2/attributor", f'{{"job":{bomb}}}'),
        ("PUT", f"{SESSION}/job", f'{{"labels":{bomb}}}'),
        ("POST", f"{SESSION}/observation", f"{head}{bomb}}}"),
        ("POST", f"{SESSION}/observation", bomb),
    ):
        refused = api(method, path, body.encode(), **JSON)
        assert refused.status == 422, (path, refused.body[:300])


HOSTILE = [
    "..%2F..%2Fetc",
    "..",
    "%00",
    "a%0Ab",
    "%C3%BC",
    "a%2Fb",
    "x" * 201,
    "x" * 10_000,
    "%F0%9F%92%A9",
    "-a",
    "%25",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_id_in_a_path_is_not_found(api: Api, name: str) -> None:
    for path in (f"/v2/attributor/{name}", f"/v2/attributor/{name}/attribution"):
        assert api("GET", path).status == 404
    assert api("GET", f"/v2/verdict/prod/{name}").status in (404, 422)


@pytest.mark.parametrize("name", ["../x", "a\nb", "a\x00", "x" * 201, "x" * 10_000, "", "ü", "a/b", ".", "a b"])
def test_a_hostile_id_in_a_body_is_refused_by_its_field(api: Api, name: str) -> None:
    by_id = api.open(attributor_id=name)
    assert (by_id.status, by_id.slug) == (422, "invalid-request")
    assert api.open({**JOB, "job_id": name}).json["faults"][0]["field"].startswith("job.job_id")
    assert api.open({**JOB, "cluster": name}).status == 422
    api.open()
    assert api.observe("x", observation_id=name).status == 422


def test_the_longest_id_is_taken(api: Api) -> None:
    opened = api.open(attributor_id="x" * 200)
    assert opened.status == 201
    assert api("GET", opened.headers["location"]).status == 200


def test_unknown_keys_are_refused_except_inside_labels(api: Api) -> None:
    assert api.open({**JOB, "labels": {"anything": "goes"}}).status == 201
    unknown = api.open({**JOB, "job_id": "2", "colour": "red"})
    assert (unknown.status, "colour" in json.dumps(unknown.json["faults"])) == (422, True)
    assert api("POST", "/v2/attributor", {"job": JOB, "more": 1}).status == 422


def test_every_fault_is_named_at_once(api: Api) -> None:
    refused = api.open({"job_id": "../", "attempt": -1, "start": "yesterday"})
    assert {fault["field"] for fault in refused.json["faults"]} >= {"job.job_id", "job.attempt", "job.start"}


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"job_id": "1"}, {"field": "job_id", "problem": "unknown key", "expected": "one of job, attributor_id"}),
        ({}, {"field": "job", "problem": "missing"}),
        ({"job": "4711"}, {"field": "job", "problem": "'4711'", "expected": "a JSON object"}),
        ({"job": None}, {"field": "job", "problem": "null given", "expected": "a JSON object"}),
        (
            {"job": JOB, "ttl_seconds": "long"},
            {"field": "ttl_seconds", "problem": "'long'", "expected": "a valid integer"},
        ),
        (
            {"job": JOB, "attributor_id": "a b"},
            {"field": "attributor_id", "problem": "'a b'", "expected": "a string matching"},
        ),
        ({"job": JOB, "ttl_seconds": [1]}, {"field": "ttl_seconds", "problem": "list given"}),
    ],
    ids=["unknown", "missing", "text", "null", "no number", "no id", "list"],
)
def test_a_fault_says_what_was_given_and_what_is_taken(
    api: Api, fields: dict[str, object], fault: dict[str, str]
) -> None:
    found = {named["field"]: named for named in api("POST", "/v2/attributor", fields).json["faults"]}
    named = found[fault["field"]]
    assert named["problem"] == fault["problem"]
    assert named.get("expected", "").startswith(fault.get("expected", ""))


def test_a_plain_line_of_text_among_ndjson_is_told_to_go_in_quotes(api: Api) -> None:
    api.open()
    body = b'{"source": "applog", "format": "text"}\n"fine"\nRuntimeError: boom\n'
    (fault,) = api("POST", f"{SESSION}/observation", body, Content_Type="application/x-ndjson").json["faults"]
    assert (fault["field"], fault["problem"]) == ("line 3", "is not JSON: expected value at column 1")
    assert "in quotes" in fault["expected"]


def test_an_observation_without_entries_is_told_that_they_are_missing(api: Api) -> None:
    api.open()
    (fault,) = api("POST", f"{SESSION}/observation", {"source": "applog", "format": "text"}).json["faults"]
    assert (fault["field"], fault["problem"]) == ("entry_timeseries", "missing")


def test_settings_of_a_test_do_not_leak_into_the_defaults() -> None:
    assert replace(ServiceLimits(), request_bytes=1) != ServiceLimits()
