"""The dashboard as it is served: by the local server beside the API, and by the function of a deployment."""

from __future__ import annotations

import base64
import http.client
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from attribution_blueprint.demo import seed_demo
from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.gateway import Gateway, Invocation
from attribution_blueprint.local_server import Guard
from attribution_blueprint.local_service import Serving, serving
from attribution_blueprint.sample_cases import sample_folder
from attribution_blueprint.verdict_source import VerdictPlace, parse_place
from attribution_cli.serve import serve
from attribution_service.http.access import Access
from attribution_service.http.host import Host
from attribution_service.service import EVERYTHING, Service
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdicts import write_verdict
from dashboard_kit import Failure
from http_kit import DEPLOYMENT, ENGINE
from service_kit import START, local_folder_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_blueprint.local_server import LocalServer

TOKEN = "s3cret"  # noqa: S105 -- a test's token


def _ask(server: LocalServer, path: str, method: str = "GET", body: str = "", **headers: str) -> tuple[int, Any, str]:
    """(status, headers, text) of one request over the wire."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def server(folder: Path) -> Iterator[LocalServer]:
    """Over a database with one verdict."""
    import threading  # noqa: PLC0415 -- of this fixture only

    database = VerdictDatabase.open(folder / "v.db")
    database.append(Failure("4711", bad=("node-0001",)).verdict())
    database.close()
    with serving(Serving(folder / "data", port=0, verdicts=f"sqlite:{folder / 'v.db'}"), {}) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


def test_pages_and_api_stand_side_by_side(server: LocalServer) -> None:
    assert "4711" in _ask(server, "/")[2]
    assert _ask(server, "/v2/health")[0] == 200
    assert _ask(server, "/v2/nothing")[1]["Content-Type"] == "application/problem+json"


def test_a_judgement_goes_over_the_wire(server: LocalServer) -> None:
    _, headers, text = _ask(server, "/verdict/c1/4711/0")
    token = text.split('name="token" value="')[1].split('"')[0]
    own = f"http://127.0.0.1:{server.port}"
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": headers["Set-Cookie"].partition(";")[0]}
    path, body = "/verdict/c1/4711/0/feedback", f"token={token}&judgement=partly"
    assert _ask(server, path, "POST", body, Origin="http://evil.example", **form)[0] == 403
    assert _ask(server, path, "POST", body, Origin=own, **form)[0] == 303
    assert "partly" in _ask(server, "/feedback")[2]


def test_the_api_takes_nothing_from_pages_not_even_from_ours(server: LocalServer) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert _ask(server, "/v2/health", Origin=own)[0] == 403
    assert _ask(server, "/", Origin=own)[0] == 200


def test_with_a_token_a_browser_is_asked_for_a_password_and_a_program_for_a_bearer() -> None:
    guard = Guard(token=TOKEN, pages=True)
    basic = "Basic " + base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
    assert guard.refusal({"Host": "localhost", "Authorization": basic}, "/fleet") is None
    assert guard.refusal({"Host": "localhost", "Authorization": basic}, "/v2/health") is not None
    assert guard.refusal({"Host": "localhost", "Authorization": f"Bearer {TOKEN}"}, "/v2/health") is None
    for wrong in ("", "Basic", "Basic !!!", "Basic " + base64.b64encode(b"s3cret:").decode(), "Bearer s3cre"):
        assert guard.refusal({"Host": "localhost", "Authorization": wrong}, "/fleet") is not None
    assert guard.challenge("/fleet")
    assert not guard.challenge("/v2/health")


# ---- the function of a deployment


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    with local_folder_store(folder, lambda: START) as store:
        service = Service(store, ENGINE, lambda: START)
        write_verdict(service, EVERYTHING, Failure("4711").verdict())
        yield Host(service, Access(), write_metrics=lambda _: None)


def _event(path: str, claims: dict[str, str] | None) -> dict[str, Any]:
    """What an HTTP API with a JWT authorizer sends in format 2.0."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "abc.execute-api.eu-west-1.amazonaws.com", "x-forwarded-proto": "https"},
        "requestContext": {
            "stage": "$default",
            "http": {"method": "GET", "path": path},
            "authorizer": {"jwt": {"claims": claims, "scopes": None}},
        },
        "isBase64Encoded": False,
    }


def _answer(host: Host, path: str, claims: dict[str, str] | None) -> dict[str, Any]:
    handler = DEPLOYMENT.load()["VerdictsFunction"]
    found: dict[str, Any] = handler(_event(path, claims), Invocation("VerdictsFunction", host, 30))
    return found


def test_the_function_answers_with_the_pages_of_the_callers_clusters(host: Host) -> None:
    mine = {"sub": "me", "custom:clusters": "c1"}
    answer = _answer(host, "/verdict/c1/4711/0", mine)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
    assert "4711" in answer["body"]
    assert answer["cookies"][0].endswith("; Secure")
    assert _answer(host, "/verdict/c1/4711/0", {"sub": "me", "custom:clusters": "c2"})["statusCode"] == 404
    assert _answer(host, "/verdict/c1/4711/0", {"sub": "me"})["statusCode"] == 404
    # a claim that is a list, as the gateway writes it
    assert _answer(host, "/verdict/c1/4711/0", {"sub": "me", "custom:clusters": "[c2 c1]"})["statusCode"] == 200


@pytest.mark.parametrize("claims", [None, {}])
def test_the_function_answers_nobody_without_claims(host: Host, claims: dict[str, str] | None) -> None:
    answer = _answer(host, "/", claims)
    assert answer["statusCode"] == 401
    assert "4711" not in json.dumps(answer)


def test_the_function_walks_through_the_samples(host: Host) -> None:
    answer = _answer(host, "/walkthrough/xid79-gpu-at-95c", {"sub": "me", "custom:clusters": "*"})
    assert answer["statusCode"] == 200


def test_a_gateway_without_a_library_serves_no_pages() -> None:
    assert Gateway(DEPLOYMENT, {}, None).library is None


# ---- where verdicts come from


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", VerdictPlace("")),
        ("sqlite:a:b.db", VerdictPlace("sqlite", "a:b.db")),
        ("dynamodb:table", VerdictPlace("dynamodb", "table")),
        ("dynamodb:table@bucket", VerdictPlace("dynamodb", "table", "bucket")),
    ],
)
def test_a_place_is_read(text: str, place: VerdictPlace) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["sqlite:", "postgres:x", "v.db", "dynamodb:"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(EvidenceError, match="expected sqlite:PATH"):
        parse_place(text)


@pytest.mark.parametrize("content", [None, b"not a database, and long enough to be none"])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "v.db"
    if content is not None:
        path.write_bytes(content)
    result = CliRunner().invoke(serve, ["--port", "0", "--data", str(tmp_path), "--verdicts", f"sqlite:{path}"])
    assert (result.exit_code, str(path) in result.stderr) == (2, True)


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    before = path.read_bytes()
    result = CliRunner().invoke(serve, ["--port", "0", "--data", str(tmp_path), "--verdicts", f"sqlite:{path}"])
    assert (result.exit_code, "another program's tables (invoices)" in result.stderr) == (2, True)
    assert path.read_bytes() == before


def test_a_table_without_a_region_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    result = CliRunner().invoke(serve, ["--port", "0", "--data", str(tmp_path), "--verdicts", "dynamodb:verdicts"])
    assert (result.exit_code, "a region" in result.stderr) == (2, True)


def test_a_demo_takes_no_data_of_its_own(tmp_path: Path) -> None:
    result = CliRunner().invoke(serve, ["--demo", "--data", str(tmp_path)])
    assert (result.exit_code, "--demo" in result.stderr) == (2, True)


def test_a_demo_attributes_every_sample(tmp_path: Path) -> None:
    samples = tmp_path / "cases"
    samples.mkdir()
    for case in sorted(sample_folder().iterdir())[:3]:
        (samples / case.name).symlink_to(case)
    told: list[tuple[int, int]] = []
    seeded = seed_demo(tmp_path / "demo.db", samples, ENGINE(), lambda done, of: told.append((done, of)))
    assert (seeded, told) == (3, [(1, 3), (2, 3), (3, 3)])
    with pytest.raises(EvidenceError, match="holds no samples"):
        seed_demo(tmp_path / "none.db", tmp_path / "none", ENGINE())
