"""The local server itself: whom it lets in, uploads, the Lambda API, and what it survives."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from click.testing import CliRunner

from attribution_blueprint.local_server import Guard, is_loopback
from attribution_blueprint.variables import unknown_variables
from attribution_cli.serve import serve
from attribution_service.verdict_database import VerdictDatabase
from http_kit import JOB, ROOT, SESSION, Api, Reply, observation, running

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "["])
def test_a_request_under_a_foreign_name_is_not_taken(api: Api, name: str) -> None:
    refused = api("GET", "/v2/health", Host=name)
    assert (refused.status, refused.slug) == (421, "misdirected-request")


@pytest.mark.parametrize("name", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000"])
def test_a_request_under_a_name_of_the_loopback_is_taken(api: Api, name: str) -> None:
    assert api("GET", "/v2/health", Host=name).status == 200


def test_a_request_of_a_page_is_not_taken(api: Api) -> None:
    assert api("POST", "/v2/attributor", {"job": JOB}, Origin="http://evil.example").status == 403


def test_with_a_token_every_route_asks_for_it(folder: Path) -> None:
    with running(folder, guard=Guard(token="s3cret")) as api:  # noqa: S106 -- a test's token
        assert api("GET", "/v2/health").slug == "unauthorized"
        assert api("GET", "/v2/health", Authorization="Bearer s3cre").status == 401
        assert api("GET", "/v2/health", Authorization="Bearer s3cret").status == 200


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True)]
)
def test_the_loopback_is_known(host: str, expected: bool) -> None:  # noqa: FBT001 -- a parameter of the table
    assert is_loopback(host) is expected


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "node-1", "127.0.0.1.evil.example"])  # noqa: S104 -- what is refused
def test_another_address_needs_a_token(host: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(serve, ["--host", host, "--data", str(tmp_path)])
    assert (result.exit_code, "--token" in result.stderr) == (2, True)


def test_a_chunked_body_is_refused(api: Api) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        head = f"POST /v2/attributor HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 411 " in connection.recv(4096)


def test_one_connection_serves_many_requests_also_after_a_refusal(api: Api) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
    statuses = []
    for path, body in (("/v2/health", b""), ("/v2/nothing", b"x" * 11_000_000), ("/v2/health", b"")):
        connection.request("GET", path, body)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [200, 413, 200]


def test_a_large_body_goes_through_an_upload_url_once(api: Api) -> None:
    api.open()
    body = "".join(f"line {number}\n" for number in range(1_000)).encode()
    announced = {"source": "applog", "format": "text", "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    ticket = api("POST", f"{SESSION}/observation/upload", announced).json
    path = re.sub(r"^http://127\.0\.0\.1:\d+", "", ticket["upload_url"])
    assert api("PUT", path, body[:-1], **ticket["headers"]).status == 422
    assert api("PUT", path, b"x" * len(body), **ticket["headers"]).status == 422
    assert api("PUT", path, body + b"x", **ticket["headers"]).status == 413
    assert api("PUT", path, body, **ticket["headers"]).status == 200
    assert api("PUT", path, body, **ticket["headers"]).status == 404
    named = {"source": "applog", "format": "text", "stream": "big.log", "object_key": ticket["object_key"]}
    taken = api("POST", f"{SESSION}/observation", named)
    assert (taken.status, taken.json["lines"]) == (201, 1_000)
    assert api("POST", f"{SESSION}/observation", named).slug == "duplicate-observation"


@pytest.mark.parametrize("token", ["", "../service.db", "0" * 32, "%2e%2e"])
def test_an_upload_url_that_was_not_issued_is_not_found(api: Api, token: str) -> None:
    assert api("PUT", f"/_upload/{token}", b"x").status in (404, 405)


def test_an_observation_far_over_the_limit_names_the_upload_route(api: Api) -> None:
    api.open()
    refused = api("POST", f"{SESSION}/observation", b"x" * (11 << 20), Content_Type="application/json")
    assert (refused.status, refused.json["upload"]) == (413, "POST /v2/attributor/{id}/observation/upload")
    over = api("POST", f"{SESSION}/observation", b"x" * (9 << 20), Content_Type="application/json")
    assert refused.json["limit"] == over.json["limit"] == 4_500_000


def test_a_client_that_goes_away_leaves_no_trace_on_the_screen(api: Api, capfd: pytest.CaptureFixture[str]) -> None:
    for sent in (b"", b"POST /v2/attributor HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"):
        connection = socket.create_connection(("127.0.0.1", api.port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        connection.sendall(sent)
        connection.close()
    assert api("GET", "/v2/health").status == 200
    assert "Traceback" not in capfd.readouterr().err


def client_of(api: Api) -> Any:
    return boto3.client(
        "lambda",
        endpoint_url=f"http://127.0.0.1:{api.port}",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",  # noqa: S106 -- no account stands behind it
        config=Config(retries={"total_max_attempts": 1}),
    )


def test_the_lambda_api_invokes_functions_by_name(folder: Path) -> None:
    with running(folder, lambda_api=True) as api:
        function = client_of(api)
        event = {"count_abandoned": {"hours": 1}}
        for name in ("OpenAttributorFunction", "open_attributor"):
            answer = function.invoke(FunctionName=name, Payload=json.dumps(event))
            assert json.loads(answer["Payload"].read()) == {"abandoned": 0}
        missing = function.invoke(FunctionName="attribute", Payload=json.dumps({"attribute_later": "prod:1:0"}))
        assert missing["FunctionError"] == "Unhandled"
        assert json.loads(missing["Payload"].read())["errorType"] == "NotFoundError"
        for kind in ("RequestResponse", "Event", "DryRun"):
            with pytest.raises(function.exceptions.ResourceNotFoundException, match="there are attribute, "):
                function.invoke(FunctionName="nothing", InvocationType=kind, Payload="{}")
        no_request = function.invoke(FunctionName="ingest", Payload='{"a": 1}')
        assert "as API Gateway does" in json.loads(no_request["Payload"].read())["errorMessage"]


def test_a_dry_run_runs_nothing(folder: Path) -> None:
    with running(folder, lambda_api=True) as api:
        event = json.loads((ROOT / "events" / "open_attributor" / "open_attributor.json").read_text())
        dry = client_of(api).invoke(FunctionName="open_attributor", InvocationType="DryRun", Payload=json.dumps(event))
        assert dry["StatusCode"] == 204
        assert api("GET", "/v2/attributor?cluster=prod").json["sessions"] == []


def test_without_the_flag_there_is_no_lambda_api(api: Api) -> None:
    assert api("POST", "/2015-03-31/functions/ingest/invocations", {}).status == 404


class Served:
    """``attribution serve`` as a process of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        command = [sys.executable, "-m", "attribution_cli", "serve", "--data", str(folder), "--port", "0", *more]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 -- our own interpreter
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        self.api = Api(int(re.findall(r":(\d+)/v2", line)[0]))
        self.dashboard = self.process.stderr.readline()

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        status = self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status

    def end(self) -> None:
        """Stop it if a failed test left it running."""
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)


def test_it_says_which_verdicts_the_dashboard_shows(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "v.db"
    VerdictDatabase.open(path).close()
    for more, told in (((), "what this service holds"), (("--verdicts", f"sqlite:{path}"), f"sqlite:{path}")):
        served = Served(tmp_path / "store", *more)
        request.addfinalizer(served.end)
        assert served.dashboard == f"dashboard http://127.0.0.1:{served.api.port}/ shows {told}\n"
        assert served.stop(signal.SIGTERM) == 0


def deliver_until_dead(api: Api, worker: int, acknowledged: list[str]) -> None:
    for number in range(10_000):
        name = f"{worker}-{number}"
        try:
            reply = api.observe(f"line of {name}", observation_id=name)
        except (OSError, http.client.HTTPException):
            return
        if reply.status == 201:
            acknowledged.append(name)


def test_a_killed_server_loses_no_acknowledged_batch(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    served = Served(tmp_path)
    served.api.open()
    served.api.observe("warm")
    acknowledged: list[str] = []
    threads = [
        threading.Thread(target=deliver_until_dead, args=(served.api, worker, acknowledged)) for worker in range(4)
    ]
    for thread in threads:
        thread.start()
    time.sleep(1.5)
    served.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert len(acknowledged) > 20

    again = Served(tmp_path)
    request.addfinalizer(again.end)
    for name in acknowledged:
        reply = again.api("POST", f"{SESSION}/observation", observation(f"line of {name}", observation_id=name))
        assert (reply.status, reply.slug) == (409, "duplicate-observation"), name
    reply = settled(again.api)
    assert reply.status == 200, reply
    assert reply.json["based_on"]["batches"] >= len(acknowledged) + 1
    assert again.stop(signal.SIGTERM) == 0


def settled(api: Api) -> Reply:
    """The answer to an attribution, which for many batches is only promised at first."""
    reply = api("GET", f"{SESSION}/attribution")
    for _ in range(600):
        if reply.status != 202:
            break
        time.sleep(0.1)
        reply = api("GET", f"{SESSION}/attribution")
    return reply


@pytest.mark.parametrize("second", ["5", "2"])
def test_a_length_that_is_given_twice_is_refused_and_the_connection_closed(api: Api, second: str) -> None:
    """A proxy in front may have taken the other one for where the next request begins."""
    with socket.create_connection(("127.0.0.1", api.port)) as connection:
        head = (
            f"POST /v2/attributor HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: {second}\r\n\r\n"
        )
        connection.sendall(head.encode() + b"{} {}")
        answer = b""
        while block := connection.recv(65_536):
            answer += block
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Content-Length is given more than once" in answer


def test_an_empty_rules_folder_is_refused_at_the_start(tmp_path: Path) -> None:
    result = CliRunner().invoke(serve, ["--rules", str(tmp_path), "--data", str(tmp_path / "data"), "--port", "0"])
    assert (result.exit_code, "holds no rule; expected a folder of" in result.output) == (2, True)


def test_a_variable_that_nothing_reads_is_told_with_the_one_that_was_meant() -> None:
    (said,) = unknown_variables(["ATTRIBUTION_EVIDENCEDAYS", "ATTRIBUTION_TOKEN", "ATTRIBUTION_KEEP_RAW", "PATH"])
    assert said == "ATTRIBUTION_EVIDENCEDAYS: is not read by anything; did you mean ATTRIBUTION_EVIDENCE_DAYS?"


def test_the_health_of_a_store_that_cannot_be_written_is_a_503(folder: Path) -> None:
    with running(folder) as api:
        assert api("GET", "/v2/health").status == 200
        store = api.host.service.store  # type: ignore[union-attr]  # this server runs here
        store.database.run(lambda connection: connection.execute("PRAGMA query_only = on"))
        sick = api("GET", "/v2/health")
        assert (sick.status, sick.slug) == (503, "store-unavailable")
        assert "service.db" in sick.json["detail"]


def test_head_is_answered_as_get_is_without_the_body(api: Api) -> None:
    """Load balancers ask for the health this way."""
    got, head = api("GET", "/v2/health"), api("HEAD", "/v2/health")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(got.body))
    assert head.headers["server"] == "attribution"
    assert api("HEAD", f"{SESSION}/observation").status == 405


def test_a_path_that_ends_with_a_slash_is_told_why_it_is_none(api: Api) -> None:
    assert "no path ends with a slash" in api("GET", "/v2/health/").json["detail"]


def test_a_payload_that_is_no_event_is_refused_as_lambda_and_the_functions_do(folder: Path) -> None:
    path = "/2015-03-31/functions/attribute/invocations"
    with running(folder, lambda_api=True) as api:
        wrong = api("POST", path, b"{no json")
        assert (wrong.status, wrong.headers["x-amzn-errortype"]) == (400, "InvalidRequestContentException")
        for payload in (b"[]", b"null", b'{"httpMethod": "POST"}'):
            failed = api("POST", path, payload)
            assert failed.json["errorType"] == "InvalidRequestError", payload
            assert "API Gateway" in failed.json["errorMessage"]
