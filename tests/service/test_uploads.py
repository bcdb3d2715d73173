"""Bodies that do not fit into a request: announced, put, named; verified, streamed, removed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from attribution_lib.observation import ObservationFormat, Source
from attribution_lib.parsing.limits import Limits
from attribution_service.errors import (
    DuplicateObservationError,
    InvalidRequestError,
    NotFoundError,
    ObservationConflictError,
    TooLargeError,
)
from attribution_service.ingest import ingest
from attribution_service.model import Receipt, UploadRequest, UploadTicket
from attribution_service.service import EVERYTHING, Caller
from attribution_service.sessions import delete_session
from attribution_service.settings import ServiceLimits
from attribution_service.stores.local_uploads import UPLOAD_ROUTE, LocalUploads
from attribution_service.uploads import issue_upload

if TYPE_CHECKING:
    from pathlib import Path

    from service_kit import World

SMALL_SLABS = ServiceLimits(slab_bytes=4096)


def announce(world: World, data: bytes, *, layout: str = "text", source: str = "applog", size: int = 0) -> UploadTicket:
    request = UploadRequest(
        source=Source(source),
        format=ObservationFormat(layout),
        size=size or len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    return issue_upload(world.service, EVERYTHING, "s", request)


def deliver(world: World, ticket: UploadTicket, **header: Any) -> Receipt:
    fields = {"source": "applog", "format": "text", "stream": "big.log", "object_key": ticket.object_key, **header}
    return ingest(world.service, EVERYTHING, "s", json.dumps(fields).encode())


def upload(world: World, data: bytes, *, layout: str = "text", source: str = "applog", **header: Any) -> Receipt:
    """The whole route at once."""
    ticket = announce(world, data, layout=layout, source=source)
    world.service.store.objects.put(ticket.object_key, data)
    return deliver(world, ticket, format=layout, source=source, **header)


@pytest.fixture
def small(world: World) -> World:
    """An open session in a service whose slabs are small."""
    world.with_settings(limits=SMALL_SLABS, keep_raw=True)
    world.open()
    return world


def log(lines: int) -> bytes:
    return b"".join(b"step %d of many, all is well\n" % number for number in range(lines))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_text_is_read_slab_by_slab_with_its_line_numbers(small: World, *, packed: bool) -> None:
    data = log(1000) + b"PART BROKE\n" + log(500) + b"CODE RAISED at the end"
    receipt = upload(small, gzip.compress(data) if packed else data, first_line=101)
    assert (receipt.lines, receipt.events) == (1502, 2)
    root = small.verdict()["root_cause"]
    assert (root["symptom"], root["line_num"], root["stream"]) == ("Part broke", 1101, "big.log")
    assert small.verdict()["evidence"]["lines"] == 1502


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("packer", PACKERS)
def test_whatever_compresses_logs_is_unpacked(small: World, packer: str) -> None:
    pack = PACKERS[packer]
    receipt = upload(small, pack(log(1000) + b"PART BROKE\n") + pack(log(500)))
    assert (receipt.lines, receipt.events) == (1501, 1)


NOISE = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(1000))
"""Bytes that do not compress, and are no text."""


@pytest.mark.parametrize("packer", PACKERS)
def test_compressed_data_that_is_cut_off_is_refused(small: World, packer: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"{packer} data is cut off"):
        upload(small, PACKERS[packer](NOISE.hex().encode())[:-10])


@pytest.mark.parametrize("packer", ["gzip", "bzip2", "xz"])  # zstd writes no checksum unless it is asked to
def test_compressed_data_that_is_damaged_is_refused(small: World, packer: str) -> None:
    data = PACKERS[packer](NOISE.hex().encode())
    with pytest.raises(InvalidRequestError, match=f"damaged {packer} data"):
        upload(small, data[:20_000] + b"\xff" * 8 + data[20_008:])


@pytest.mark.parametrize("packer", PACKERS)
def test_compressed_data_that_becomes_too_long_is_refused(world: World, packer: str) -> None:
    world.with_settings(limits=ServiceLimits(observation=Limits(upload_bytes=100_000)))
    world.open()
    with pytest.raises(TooLargeError, match="unpacked"):
        upload(world, PACKERS[packer](bytes(100_001)))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (NOISE, "binary data"),
        (b"PK\x03\x04" + bytes(100), "ZIP archive"),
        (gzip.compress(b"x" * 257 + b"ustar"), "tar archive"),
        (b"\x7fELF" + bytes(100), "core dump"),
    ],
    ids=["random", "zip", "tar.gz", "core"],
)
def test_what_is_no_log_is_refused_and_said_to_be_none(small: World, data: bytes, what: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        upload(small, data)
    assert what in caught.value.extras["faults"][0]["problem"]
    assert small.verdict()["based_on"]["batches"] == 0


def test_a_log_with_runs_of_nul_and_colours_is_a_log(small: World) -> None:
    assert upload(small, bytes(4096) + b"\n\x1b[31mPART BROKE\x1b[0m\r\n").events == 1


def test_an_upload_says_the_same_as_the_lines_sent_inline(small: World) -> None:
    data = log(300) + b"PART BROKE\n" + log(300)
    upload(small, data)
    uploaded = small.verdict()
    small.open("t")
    small.send(*data.decode().splitlines(), session="t", stream="big.log")
    inline = small.verdict("t")
    for verdict in (uploaded, inline):
        verdict["root_cause"]["observation_id"] = ""
        del verdict["based_on"]
    assert uploaded == inline


def test_the_object_is_gone_once_it_is_committed(small: World) -> None:
    upload(small, b"PART BROKE token hf_abcdefghijklmnopqrstuvwxyz0123\n")
    assert not [key for key in small.listed() if "/upload/" in key]


def test_an_observation_sent_again_is_a_duplicate_with_the_first_receipt(small: World) -> None:
    data = b"PART BROKE\n"
    ticket = announce(small, data)
    small.service.store.objects.put(ticket.object_key, data)
    receipt = deliver(small, ticket)
    for _ in range(2):
        with pytest.raises(DuplicateObservationError) as caught:
            deliver(small, ticket)
        assert caught.value.extras["receipt"] == receipt.model_dump()
    with pytest.raises(DuplicateObservationError):
        upload(small, data)


def test_an_upload_that_was_taken_is_no_second_observation_under_another_header(small: World) -> None:
    """It was not delivered, and saying so must not look like success."""
    data = b"PART BROKE\n"
    ticket = announce(small, data)
    small.service.store.objects.put(ticket.object_key, data)
    deliver(small, ticket)
    with pytest.raises(ObservationConflictError, match="announce and put it again"):
        deliver(small, ticket, stream="another.log")


def test_another_content_under_the_same_id_is_a_conflict(small: World) -> None:
    upload(small, b"PART BROKE\n", observation_id="mine")
    with pytest.raises(ObservationConflictError):
        upload(small, b"DRIVER HUNG\n", observation_id="mine")


def test_entries_come_one_a_line(small: World) -> None:
    entries = [json.dumps({"line": f"fine {number}", "node": "n1"}) for number in range(400)]
    entries[250] = json.dumps({"line": "PART BROKE", "node": "n2", "ts": "2026-05-28T20:00:00Z"})
    receipt = upload(small, "\n".join(entries).encode(), layout="json")
    assert (receipt.lines, receipt.events) == (400, 1)
    root = small.verdict()["root_cause"]
    assert (root["line_num"], root["node"], root["timestamp"]) == (251, "n2", "2026-05-28T20:00:00.000000Z")


def test_a_line_that_is_no_entry_is_named(small: World) -> None:
    entries = [json.dumps({"line": f"fine {number}"}) for number in range(400)]
    entries[300] = '{"lines": 1}'
    with pytest.raises(InvalidRequestError) as caught:
        upload(small, "\n".join(entries).encode(), layout="json")
    assert "the part that begins at line" in caught.value.extras["faults"][0]["field"]


@pytest.mark.parametrize("shape", ["array", "lines"])
def test_metrics_come_as_an_array_or_one_series_a_line(small: World, shape: str) -> None:
    series = [
        json.dumps({"metric": {"__name__": "up", "node": f"n{number}"}, "values": [[1780000000, "1"]]})
        for number in range(200)
    ]
    data = "[" + ",".join(series) + "]" if shape == "array" else "\n".join(series)
    receipt = upload(small, data.encode(), layout="prometheus_matrix", source="node_metrics")
    assert receipt.lines == 200


def test_an_empty_object_is_an_observation_of_no_lines(small: World) -> None:
    assert upload(small, gzip.compress(b"")).lines == 0


def test_only_a_key_issued_for_this_session_is_taken(small: World) -> None:
    data = b"PART BROKE\n"
    small.open("t")
    foreign = issue_upload(
        small.service,
        EVERYTHING,
        "t",
        UploadRequest(
            source=Source.APPLOG, format=ObservationFormat.TEXT, size=11, sha256=hashlib.sha256(data).hexdigest()
        ),
    )
    own = announce(small, data)
    small.service.store.objects.put(foreign.object_key, data)
    (job,) = (key for key in small.listed("attributors/s/") if "/job/" in key)
    for key in (foreign.object_key, own.object_key[:-1], own.object_key + "x", job, "", "../x", "rules/x"):
        with pytest.raises(InvalidRequestError, match="no such upload"):
            deliver(small, own.model_copy(update={"object_key": key}))


def test_a_key_of_an_earlier_session_of_this_id_is_not_taken(small: World) -> None:
    data = b"PART BROKE\n"
    ticket = announce(small, data)
    delete_session(small.service, EVERYTHING, "s")
    small.open()
    small.service.store.objects.put(ticket.object_key, data)
    with pytest.raises(InvalidRequestError, match="no such upload"):
        deliver(small, ticket)


def test_nothing_was_put_yet(small: World) -> None:
    with pytest.raises(InvalidRequestError, match="no such upload"):
        deliver(small, announce(small, b"PART BROKE\n"))


@pytest.mark.parametrize("put", [b"PART BROKE!", b"PART BROKE\n\n"], ids=["other content", "other size"])
def test_another_object_than_announced_is_refused(small: World, put: bytes) -> None:
    ticket = announce(small, b"PART BROKE\n")
    small.service.store.objects.put(ticket.object_key, put)
    with pytest.raises(InvalidRequestError, match="announced"):
        deliver(small, ticket)


@pytest.mark.parametrize("header", [{"source": "syslog"}, {"format": "json"}, {"entry_timeseries": []}, {"colour": 1}])
def test_a_header_that_does_not_fit_the_announcement_is_refused(small: World, header: dict[str, Any]) -> None:
    ticket = announce(small, b"PART BROKE\n")
    small.service.store.objects.put(ticket.object_key, b"PART BROKE\n")
    with pytest.raises(InvalidRequestError):
        deliver(small, ticket, **header)


def test_the_size_is_bounded_packed_and_unpacked(world: World) -> None:
    limits = ServiceLimits(slab_bytes=4096)
    observation = type(limits.observation)(upload_bytes=100_000)
    world.with_settings(limits=ServiceLimits(slab_bytes=4096, observation=observation))
    world.open()
    assert upload(world, gzip.compress(b"x" * 99_999 + b"\n")).lines == 1
    assert upload(world, b"y" * 99_999 + b"\n").lines == 1
    with pytest.raises(TooLargeError):
        upload(world, gzip.compress(b"x" * 100_000 + b"\n"))
    with pytest.raises(TooLargeError):
        announce(world, b"", size=100_001)


def test_cut_gzip_is_refused(small: World) -> None:
    with pytest.raises(InvalidRequestError, match="unpacked"):
        upload(small, gzip.compress(log(1000))[:-20])


def test_a_closed_session_issues_nothing(world: World) -> None:
    with pytest.raises(NotFoundError):
        announce(world, b"x")
    world.open(cluster="beta")
    request = UploadRequest(source=Source.APPLOG, format=ObservationFormat.TEXT, size=1, sha256="0" * 64)
    with pytest.raises(NotFoundError):
        issue_upload(world.service, Caller(frozenset({"alpha"})), "s", request)


class TestLocalUrls:
    """The one-time URLs of the local back end."""

    @pytest.fixture
    def uploads(self, small: World, folder: Path) -> LocalUploads:
        return LocalUploads(folder / "store", lambda: small.now, "http://127.0.0.1:8000")

    def token(self, ticket: UploadTicket) -> str:
        return ticket.upload_url.partition(UPLOAD_ROUTE)[2]

    def test_a_body_is_put_once(self, small: World, uploads: LocalUploads) -> None:
        ticket = announce(small, b"PART BROKE\n")
        uploads.accept(self.token(ticket), io.BytesIO(b"PART BROKE\n"), small.service.store.objects)
        with pytest.raises(NotFoundError):
            uploads.accept(self.token(ticket), io.BytesIO(b"PART BROKE\n"), small.service.store.objects)
        assert deliver(small, ticket).events == 1

    @pytest.mark.parametrize("body", [b"PART BROKE", b"PART BROKE!", b""])
    def test_another_body_is_refused_and_may_be_sent_again(
        self, small: World, uploads: LocalUploads, body: bytes
    ) -> None:
        ticket = announce(small, b"PART BROKE\n")
        with pytest.raises(InvalidRequestError):
            uploads.accept(self.token(ticket), io.BytesIO(body), small.service.store.objects)
        uploads.accept(self.token(ticket), io.BytesIO(b"PART BROKE\n"), small.service.store.objects)

    def test_a_longer_body_is_not_read_to_its_end(self, small: World, uploads: LocalUploads) -> None:
        body = io.BytesIO(b"PART BROKE\n" + b"x" * 1000)
        with pytest.raises(TooLargeError):
            uploads.accept(self.token(announce(small, b"PART BROKE\n")), body, small.service.store.objects)
        assert body.tell() == 12

    def test_a_url_expires(self, small: World, uploads: LocalUploads) -> None:
        ticket = announce(small, b"PART BROKE\n")
        small.now += 901
        with pytest.raises(NotFoundError):
            uploads.accept(self.token(ticket), io.BytesIO(b"PART BROKE\n"), small.service.store.objects)
        assert uploads.sweep() == 1

    @pytest.mark.parametrize("token", ["", "../../x", "0" * 32, "x" * 5000])
    def test_a_token_that_is_none_is_refused(self, small: World, uploads: LocalUploads, token: str) -> None:
        with pytest.raises(NotFoundError):
            uploads.accept(token, io.BytesIO(b""), small.service.store.objects)
