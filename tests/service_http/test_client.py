"""The typed client against the local server, and how it signs, waits and gives up."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from botocore.session import Session

from attribution_blueprint.local_server import Guard
from attribution_lib.observation import ObservationFormat, Source
from attribution_service.client import (
    BearerToken,
    Client,
    RefusedError,
    SignedV4,
    Transport,
    UnreachableError,
)
from attribution_service.enrichment import EnrichRequest, enriched_verdict
from attribution_service.model import FeedbackJudgement, FeedbackRequest, UploadRequest
from attribution_service.service import EVERYTHING
from attribution_service.transport import asked_pause
from attribution_service.verdicts import write_verdict
from http_kit import JOB, observation, running

if TYPE_CHECKING:
    from pathlib import Path

    from http_kit import Api

NAME = "prod:4711:0"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def client_of(api: Api, **transport: Any) -> Client:
    return Client(Transport(f"http://127.0.0.1:{api.port}", sleep=lambda _: None, **transport))


def test_the_client_drives_the_whole_life_of_a_session(api: Api) -> None:
    client = client_of(api)
    assert client.health().status == "ok"
    assert client.open(JOB, ttl=3600).attributor_id == NAME
    with pytest.raises(RefusedError) as caught:
        client.open(JOB)
    assert (caught.value.slug, caught.value.problem["attributor_id"]) == ("duplicate-session", NAME)
    body = json.dumps(observation(OOM)).encode()
    first, again = client.observe(NAME, body), client.observe(NAME, body)
    assert (first.duplicate, again.duplicate, again.receipt) == (False, True, first.receipt)

    log = b"one\ntwo\n"
    ticket = client.announce(
        NAME,
        UploadRequest(
            source=Source.APPLOG,
            format=ObservationFormat.TEXT,
            size=len(log),
            sha256=hashlib.sha256(log).hexdigest(),
        ),
    )
    client.put(ticket, log)
    named = {"source": "applog", "format": "text", "stream": "b", "object_key": ticket.object_key}
    assert client.observe(NAME, json.dumps(named).encode()).receipt.lines == 2

    fetched = client.attribute(NAME)
    assert fetched.verdict is not None
    assert fetched.verdict.outcome == "gpu_out_of_memory"
    assert client.attribute(NAME, etag=fetched.etag).verdict is None
    assert client.update_job(NAME, {"state": "FAILED"}).job == {**JOB, "state": "FAILED"}
    assert client.describe(NAME).observations >= 0
    assert [session.attributor_id for session in client.sessions(cluster="prod").sessions] == [NAME]

    assert api.host is not None
    request = EnrichRequest(attributor_id=NAME, run_id="run-1")
    write_verdict(api.host.service, EVERYTHING, enriched_verdict(api.host.service, EVERYTHING, request))
    assert client.verdict("prod", "4711").run_id == client.verdict("prod", "4711", 0, run="run-1").run_id == "run-1"
    assert [head.job_id for head in client.verdicts(cluster="prod", outcome="gpu_out_of_memory").verdicts] == ["4711"]
    judged = client.judge("prod", "4711", 0, FeedbackRequest(judgement=FeedbackJudgement.RIGHT, author="ada"))
    assert (judged.run_id, judged.author) == ("run-1", "ada")

    client.delete(NAME)
    with pytest.raises(RefusedError, match="404"):
        client.describe(NAME)


def test_a_refusal_says_which_fields_are_wrong(api: Api) -> None:
    with pytest.raises(RefusedError, match=r"422 .*job\.attempt: .*; job\.cluster: "):
        client_of(api).open({"job_id": "1", "attempt": -1, "cluster": "a:b"})


def test_a_token_opens_a_server_that_asks_for_one(folder: Path) -> None:
    with running(folder, guard=Guard(token="s3cret")) as api:  # noqa: S106 -- a test's token
        assert client_of(api, credentials=BearerToken("s3cret")).health().status == "ok"
        with pytest.raises(RefusedError, match="401"):
            client_of(api, credentials=BearerToken("wrong")).health()


def test_tokens_do_not_show_in_a_representation() -> None:
    assert "s3cret" not in repr(BearerToken("s3cret"))


class Scripted:
    """A server that answers each request with the next of some statuses; it keeps what it was sent."""

    def __init__(self, *statuses: int) -> None:
        self.left = list(statuses)
        self.seen: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(dict(self.headers.items()))
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self.send_response(outer.left.pop(0))
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_GET  # noqa: N815 -- likewise

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_failures_that_may_pass_are_tried_again_with_growing_pauses() -> None:
    slept: list[float] = []
    with Scripted(503, 429, 500, 200) as url:
        assert Transport(url, sleep=slept.append).call("GET", "/").status == 200
    assert len(slept) == 3
    assert slept[0] < slept[2]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("soon", 0.0), ("", 0.0), ("-1", 0.0)],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(asked: str, seconds: float) -> None:
    assert asked_pause(asked) == seconds


def test_a_date_to_try_again_at_is_waited_for() -> None:
    assert 58 < asked_pause(formatdate(time.time() + 60, usegmt=True)) <= 60


def test_the_last_refusal_is_raised() -> None:
    with Scripted(503, 503) as url, pytest.raises(RefusedError, match="503"):
        Transport(url, tries=2, sleep=lambda _: None).call("GET", "/")


def test_what_must_not_be_done_twice_is_tried_again_only_when_nothing_was_done() -> None:
    with Scripted(503, 500) as url, pytest.raises(RefusedError, match="500"):
        Transport(url, sleep=lambda _: None).call("POST", "/", b"{}", repeatable=False)


def test_nobody_there_is_an_error_of_its_own() -> None:
    with Scripted() as url:
        pass
    with pytest.raises(UnreachableError, match="GET"):
        Transport(url, tries=2, sleep=lambda _: None).call("GET", "/")


def test_a_signed_request_carries_a_signature_over_host_and_body() -> None:
    session = Session()
    session.set_credentials("AKIDEXAMPLE", "secret", token="token")  # noqa: S106 -- no account stands behind it
    scripted = Scripted(200)
    with scripted as url:
        Transport(url, SignedV4("eu-west-1", session), headers={"Host": "api.example"}).call(
            "POST", "/x?b=1&a=2", b"{}"
        )
    (seen,) = scripted.seen
    assert seen["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/execute-api/aws4_request" in seen["Authorization"]
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in seen["Authorization"]
    assert (seen["Host"], seen["X-Amz-Security-Token"]) == ("api.example", "token")


def test_signing_without_credentials_says_so() -> None:
    class Nobody:
        def get_credentials(self) -> None:
            return None

    with pytest.raises(LookupError, match="no AWS credentials"):
        SignedV4("eu-west-1", Nobody()).headers("GET", "http://x/", {}, b"")


def test_an_observation_that_is_no_bytes_is_refused_before_anything_is_sent() -> None:
    client = Client(Transport("http://127.0.0.1:1"))
    with pytest.raises(TypeError, match="dict; expected bytes"):
        client.observe("prod:1:0", {"source": "applog"})  # type: ignore[arg-type]  # what people try
