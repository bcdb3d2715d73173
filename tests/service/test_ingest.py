"""Taking observations: receipts, duplicates, conflicts, refusals, and what is never stored."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.errors import (
    DuplicateObservationError,
    InvalidRequestError,
    NotFoundError,
    ObservationConflictError,
    ServiceError,
    TooLargeError,
    UnsupportedMediaError,
)
from attribution_service.ingest import ingest
from attribution_service.records import session_pk
from attribution_service.service import EVERYTHING, Caller
from service_kit import body_of

if TYPE_CHECKING:
    from service_kit import World

SECRET = "hf_abcdefghijklmnopqrstuvwxyz0123"  # noqa: S105 -- the shape of one


def test_a_receipt_says_what_was_read(world: World) -> None:
    world.open()
    receipt = world.send("nothing", "PART BROKE", "PART BROKE", "x" * (1 << 20) + "yy", f"token {SECRET}")
    assert receipt.model_dump(exclude={"observation_id"}) == {
        "lines": 5,
        "events": 1,
        "truncated_lines": 1,
        "redacted": 1,
    }
    assert len(receipt.observation_id) == 64


def test_the_same_batch_again_is_a_duplicate_with_the_first_receipt(world: World) -> None:
    world.open()
    receipt = world.send("PART BROKE")
    with pytest.raises(DuplicateObservationError) as caught:
        world.send("PART BROKE")
    assert caught.value.extras["receipt"] == receipt.model_dump()


def test_the_same_content_written_otherwise_is_the_same_batch(world: World) -> None:
    world.open()
    world.send("PART BROKE")
    fields = json.loads(body_of("PART BROKE"))
    body = json.dumps(dict(reversed(fields.items())), indent=2).encode()
    with pytest.raises(DuplicateObservationError):
        ingest(world.service, EVERYTHING, "s", body)


def test_another_content_under_a_given_id_is_a_conflict_and_not_taken(world: World) -> None:
    world.open()
    world.send("PART BROKE", observation_id="mine")
    with pytest.raises(ObservationConflictError):
        world.send("DRIVER HUNG", observation_id="mine")
    with pytest.raises(DuplicateObservationError):
        world.send("PART BROKE", observation_id="mine")
    assert [row["symptom"] for row in world.verdict()["symptoms"]] == ["Part broke"]


def test_a_conflict_is_told_from_a_duplicate_also_after_a_change_of_rules(world: World, marking: Any) -> None:
    world.open()
    world.send("PART BROKE", observation_id="mine")
    world.engine = marking
    with pytest.raises(DuplicateObservationError):
        world.send("PART BROKE", observation_id="mine")
    with pytest.raises(ObservationConflictError):
        world.send("PART BROKE", "again", observation_id="mine")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (body_of("PART BROKE"), "application/json; charset=utf-8"),
        (gzip.compress(body_of("PART BROKE")), "application/json"),
        (b'{"source":"applog","format":"text","stream":"a.log"}\n"PART BROKE"\n', "application/x-ndjson"),
        (
            gzip.compress(b'{"source":"applog","format":"text","stream":"a.log"}\n{"line":"PART BROKE"}'),
            "application/x-ndjson",
        ),
    ],
    ids=["json", "gzip", "ndjson", "gzip ndjson"],
)
def test_every_layout_of_a_body_is_read(world: World, body: bytes, content_type: str) -> None:
    world.open()
    assert ingest(world.service, EVERYTHING, "s", body, content_type=content_type).events == 1


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_another_content_type_is_refused(world: World, content_type: str) -> None:
    world.open()
    with pytest.raises(UnsupportedMediaError) as caught:
        ingest(world.service, EVERYTHING, "s", body_of("x"), content_type=content_type)
    assert caught.value.extras["accepted"] == ["application/json", "application/x-ndjson"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"source":' * 50_000,
        b'{"source":"applog","format":"text"}',
        b'{"source":"applog","format":"text","entry_timeseries":["x"],"colour":1}',
        gzip.compress(body_of("x" * 1000))[:-9],
        b"\x1f\x8bnot gzip at all",
        b'{"source":"applog","format":"text","object_key":"attributors/s/x/upload/y"}',
    ],
    ids=[
        "empty",
        "cut json",
        "list",
        "no utf-8",
        "brackets",
        "objects",
        "no entries",
        "unknown key",
        "cut gzip",
        "no gzip",
        "object key of nobody",
    ],
)
def test_a_body_that_is_none_is_refused_and_nothing_is_stored(world: World, body: bytes) -> None:
    world.open()
    with pytest.raises(InvalidRequestError) as caught:
        ingest(world.service, EVERYTHING, "s", body)
    assert caught.value.extras["faults"]
    assert world.service.store.sessions.count(session_pk("s")) == 1


def test_there_is_no_session_without_an_open_one(world: World) -> None:
    with pytest.raises(NotFoundError):
        world.send("x")
    world.open(ttl=60)
    world.now += 60
    with pytest.raises(NotFoundError):
        world.send("x")


def test_a_foreign_session_takes_nothing(world: World) -> None:
    world.open(cluster="beta")
    with pytest.raises(NotFoundError):
        ingest(world.service, Caller(frozenset({"alpha"})), "s", body_of("x"))


def test_secrets_are_in_no_object(world: World, folder: Any) -> None:
    world.with_settings(keep_raw=True)
    world.open()
    entries = [f"PART BROKE {SECRET}", {"line": f"DRIVER HUNG password={SECRET}\nsecond {SECRET}", "node": "n1"}]
    assert world.send(*entries).redacted == 3
    assert world.send(f"PART BROKE {SECRET}", stream="b.log").redacted == 1
    world.verdict()
    objects = world.service.store.objects
    stored = {info.key: objects.get(info.key) for info in objects.list("")}
    assert any("/raw/" in key for key in stored)
    stored |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for place, data in stored.items():
        plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        assert SECRET.encode() not in plain, place


def test_labels_of_metrics_are_masked(world: World) -> None:
    world.open()
    series = {"metric": {"__name__": "up", "instance": "https://me:geheim@n1:9100"}, "values": [[1780000000, "1"]]}
    receipt = world.send(series, source="node_metrics", format="prometheus_matrix")
    assert (receipt.lines, receipt.redacted) == (1, 1)


@pytest.mark.parametrize("given", [2, 3], ids=["at the limit", "one over"])
def test_a_session_holds_so_many_observations(world: World, given: int) -> None:
    limits = world.service.settings.limits
    world.with_settings(limits=type(limits)(observations_per_session=2))
    world.open()
    for number in range(2):
        world.send(f"line {number}")
    if given > 2:
        with pytest.raises(TooLargeError) as caught:
            world.send("line 3")
        assert caught.value.extras["limit"] == 2
    with pytest.raises(DuplicateObservationError):
        world.send("line 1")


def test_every_refusal_is_the_services_own(world: World) -> None:
    world.open()
    for body in (b"", b"{}", b'{"source":1}', body_of(1), body_of({"line": 2}), b"null", b'"x"', b"1e999"):
        with pytest.raises(ServiceError):
            ingest(world.service, EVERYTHING, "s", body)
