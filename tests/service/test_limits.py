"""Every limit of the API: what is just within is taken, what is just beyond is refused, cheaply."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.errors import DuplicateObservationError, InvalidRequestError, NotFoundError, TooLargeError
from attribution_service.ingest import ingest
from attribution_service.live import stored_session
from attribution_service.model import OpenRequest
from attribution_service.records import batch_sk, session_pk
from attribution_service.requests import read_json_object, read_request
from attribution_service.service import EVERYTHING
from attribution_service.sessions import open_session
from attribution_service.settings import ServiceLimits
from service_kit import body_of

if TYPE_CHECKING:
    from service_kit import World

WIRE = 4_500_000
INLINE = 64 << 20
ENTRIES = 500_000
LINE = 1 << 20
NODES = 20_000
DEPTH = 16
OBSERVATIONS = 20_000


def padded(size: int) -> bytes:
    """A body of exactly this size with one long line."""
    return body_of("x" * (size - len(body_of(""))))


def send(world: World, body: bytes) -> Any:
    return ingest(world.service, EVERYTHING, "s", body)


def measured(what: str) -> dict[str, Any]:
    """What it cost in a process of its own."""
    tests = Path(__file__).parent.parent
    command = [sys.executable, str(tests / "service_memory.py"), what]
    found = subprocess.run(command, capture_output=True, check=True, cwd=tests)  # noqa: S603 -- our own script
    figures: dict[str, Any] = json.loads(found.stdout)
    return figures


def test_a_wire_body_at_the_limit_is_taken(world: World) -> None:
    world.open()
    assert send(world, padded(WIRE)).lines == 1


def test_a_wire_body_over_the_limit_names_the_upload_route(world: World) -> None:
    world.open()
    with pytest.raises(TooLargeError) as caught:
        send(world, padded(WIRE + 1))
    assert caught.value.extras == {"limit": WIRE, "upload": "POST /v2/attributor/{id}/observation/upload"}


def test_an_unpacked_body_at_the_limit_is_taken(world: World) -> None:
    world.open()
    assert send(world, gzip.compress(padded(INLINE), 1)).truncated_lines == 1


def test_an_unpacked_body_over_the_limit_names_the_upload_route(world: World) -> None:
    world.open()
    with pytest.raises(TooLargeError) as caught:
        send(world, gzip.compress(padded(INLINE + 1), 1))
    assert caught.value.extras == {"limit": INLINE, "upload": "POST /v2/attributor/{id}/observation/upload"}
    assert f"expected at most {INLINE}" in caught.value.detail


def test_a_bomb_is_refused_at_once_and_without_memory() -> None:
    figures = measured("bomb")
    assert figures["seconds"] < 1
    assert figures["peak"] < 150


def test_a_large_log_is_streamed() -> None:
    figures = measured("upload")
    assert figures["lines"] == 2_100_001
    assert figures["outcome"] == "gpu_out_of_memory"
    assert figures["peak"] < 512


def test_as_many_entries_as_may_be_are_taken(world: World) -> None:
    world.open()
    assert send(world, body_of(*[""] * ENTRIES)).lines == ENTRIES


def test_one_entry_more_is_refused(world: World) -> None:
    world.open()
    with pytest.raises(InvalidRequestError) as caught:
        send(world, body_of(*[""] * (ENTRIES + 1)))
    assert caught.value.extras["faults"][0]["field"] == "entry_timeseries"


@pytest.mark.parametrize(("length", "cut"), [(LINE, 0), (LINE + 1, 1)], ids=["at the limit", "one over"])
def test_a_line_over_the_limit_is_cut_and_counted(world: World, length: int, cut: int) -> None:
    world.open()
    assert world.send("x" * length).truncated_lines == cut


def test_a_job_has_so_many_nodes(world: World) -> None:
    nodes = [f"n{number}" for number in range(NODES + 1)]
    assert world.open("s", nodes=nodes[:-1])
    with pytest.raises(InvalidRequestError) as caught:
        world.open("t", nodes=nodes)
    assert caught.value.extras["faults"][0]["field"] == "job.nodes"


@pytest.mark.parametrize(("length", "taken"), [(200, True), (201, False)])
@pytest.mark.parametrize("field", ["job_id", "cluster"])
def test_an_id_is_so_long(world: World, field: str, length: int, *, taken: bool) -> None:
    if taken:
        assert world.open(**{field: "x" * length})
        return
    with pytest.raises(InvalidRequestError):
        world.open(**{field: "x" * length})


@pytest.mark.parametrize("length", [200, 201])
def test_a_session_id_is_so_long(world: World, length: int) -> None:
    body = json.dumps({"job": {"job_id": "1"}, "attributor_id": "x" * length}).encode()
    if length == 200:
        request = read_request(OpenRequest, body, world.service.settings.limits)
        open_session(world.service, EVERYTHING, request)
        assert world.send("PART BROKE", session="x" * 200, observation_id="y" * 200).events == 1
    else:
        with pytest.raises(InvalidRequestError):
            read_request(OpenRequest, body, world.service.settings.limits)
        with pytest.raises(NotFoundError):
            world.send("x", session="x" * 201)


@pytest.mark.parametrize("bad", ["y" * 201, "", "-x", "a/b", "../x", "a\x00", "a\nb", "ä", "y" * 10_000])
def test_an_observation_id_that_is_none_is_refused(world: World, bad: str) -> None:
    world.open()
    with pytest.raises(InvalidRequestError) as caught:
        world.send("x", observation_id=bad)
    assert caught.value.extras["faults"][0]["field"] == "observation_id"


@pytest.mark.parametrize("cluster", ["a:b", "a/b", "", ".a"])
def test_a_cluster_that_is_none_is_refused(world: World, cluster: str) -> None:
    with pytest.raises(InvalidRequestError):
        world.open(cluster=cluster)


@pytest.mark.parametrize("depth", [DEPTH, DEPTH + 1])
def test_json_nests_so_deep(depth: int) -> None:
    body = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    if depth == DEPTH:
        assert read_json_object(body, ServiceLimits())
    else:
        with pytest.raises(InvalidRequestError) as caught:
            read_json_object(body, ServiceLimits())
        assert caught.value.extras["faults"][0]["problem"] == "nested too deeply"


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 400_000, b'{"a":"' + b"[" * 100 + b'"}'])
def test_brackets_by_the_million_cost_nothing(body: bytes) -> None:
    if body.endswith(b'"}'):
        assert read_json_object(body, ServiceLimits()) == {"a": "[" * 100}
    else:
        with pytest.raises(InvalidRequestError):
            read_json_object(body, ServiceLimits())


@pytest.mark.parametrize("size", [4_500_000, 4_500_001])
def test_any_other_request_is_so_long(size: int) -> None:
    body = b'{"a":"' + b"x" * (size - 8) + b'"}'
    if size == 4_500_000:
        assert read_json_object(body, ServiceLimits())
    else:
        with pytest.raises(TooLargeError):
            read_json_object(body, ServiceLimits())


def test_a_key_given_twice_is_refused() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_json_object(b'{"job":{"job_id":"1","job_id":"2"}}', ServiceLimits())
    assert "given twice" in caught.value.extras["faults"][0]["problem"]


def test_a_session_holds_twenty_thousand_observations(world: World) -> None:
    world.open()
    world.send("the first", observation_id="o0")
    session = stored_session(world.service, "s")
    assert session is not None
    table = world.service.store.sessions
    template = table.get(session_pk("s"), batch_sk(session.generation, "o0"))
    assert template is not None
    for number in range(1, OBSERVATIONS - 1):
        name = f"o{number}"
        table.put({**template, "sk": batch_sk(session.generation, name), "observation_id": name})
    table.update(session_pk("s"), "SESSION", {"batches": OBSERVATIONS - 900}, expect={})
    world.send("the last", observation_id="last")
    with pytest.raises(TooLargeError):
        world.send("one more", observation_id="more")
    with pytest.raises(DuplicateObservationError):
        world.send("the first", observation_id="o0")
