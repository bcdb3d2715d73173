"""Uploads straight into a real S3 server: what was signed is what is taken, once."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from attribution_lib.observation import ObservationFormat, Source
from attribution_service.ingest import ingest
from attribution_service.model import UploadRequest, UploadTicket
from attribution_service.service import EVERYTHING
from attribution_service.uploads import issue_upload
from engine_kit import engine_of
from service_kit import World, fast_folder, seaweed_store
from service_torture import Plan, Torture

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif("ATTRIBUTION_TEST_S3" not in os.environ, reason="needs a server: make seaweed")

BODY = b"fine\nPART BROKE\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service over the server, with an open session."""
    with seaweed_store() as store:
        made = World(store, engine_of(tmp_path))
        made.open()
        yield made


@pytest.fixture
def ticket(world: World) -> UploadTicket:
    request = UploadRequest(
        source=Source.APPLOG,
        format=ObservationFormat.TEXT,
        size=len(BODY),
        sha256=hashlib.sha256(BODY).hexdigest(),
    )
    return issue_upload(world.service, EVERYTHING, "s", request)


def put(ticket: UploadTicket, body: bytes, **headers: str) -> int:
    """The status of a PUT of this body."""
    url = urlsplit(ticket.upload_url)
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    sent = {**ticket.headers, "Content-Length": str(len(body)), **headers}
    connection.request("PUT", f"{url.path}?{url.query}", body, {key: text for key, text in sent.items() if text})
    with connection.getresponse() as answer:
        answer.read()
        status = answer.status
    connection.close()
    return status


def test_what_was_announced_is_put_and_ingested(world: World, ticket: UploadTicket) -> None:
    assert put(ticket, BODY) == 200
    fields = {"source": "applog", "format": "text", "stream": "big.log", "object_key": ticket.object_key}
    assert ingest(world.service, EVERYTHING, "s", json.dumps(fields).encode()).events == 1
    assert world.verdict()["root_cause"]["line_num"] == 2


def test_it_is_put_once(ticket: UploadTicket) -> None:
    assert put(ticket, BODY) == 200
    assert put(ticket, BODY) == 412


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (BODY + b"x", {}),
        (BODY[:-1] + b"x", {}),
        (BODY, {"If-None-Match": ""}),
        (BODY, {"Content-Type": "text/html"}),
        (BODY, {"x-amz-checksum-sha256": ""}),
    ],
    ids=["longer", "other content", "unconditional", "other type", "unchecked"],
)
def test_nothing_else_is_taken(world: World, ticket: UploadTicket, body: bytes, headers: dict[str, str]) -> None:
    assert 400 <= put(ticket, body, **headers) < 500
    assert not [key for key in world.listed() if "/upload/" in key]


def test_a_large_log_goes_through_the_upload_in_little_memory() -> None:
    tests = Path(__file__).parent.parent
    command = [sys.executable, str(tests / "service_memory.py"), "upload"]
    found = subprocess.run(command, capture_output=True, check=True, cwd=tests)  # noqa: S603 -- our own script
    figures = json.loads(found.stdout)
    assert figures["outcome"] == "gpu_out_of_memory"
    assert figures["peak"] < 512


def test_no_acknowledged_batch_is_lost_or_counted_twice() -> None:
    folder = fast_folder()
    with seaweed_store() as store:
        ledger = Torture(store, folder, Plan(operations=1_000, replace_every=60, seed=13)).run()
    assert ledger.violations == []
    assert ledger.counts["created"] > 0
