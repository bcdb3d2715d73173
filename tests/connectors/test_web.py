"""HTTP of connectors against a server that misbehaves in every way that servers do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.web import WebClient, WebReply, WebSettings
from attribution_blueprint.errors import AuthError, CollectError, WebError
from scripted_server import Answer, scripted

if TYPE_CHECKING:
    from pathlib import Path

OK = Answer(body=b'{"fine": true}')


def ask(url: str, seconds: float = 30, **settings: Any) -> WebReply:
    return WebClient(WebSettings(url=url, **settings)).get("/x", Budget.of(seconds), {"q": "a b"})


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int) -> None:
    with scripted(Answer(status), OK) as server:
        assert ask(server.url).json() == {"fine": True}
        assert [asked.path for asked in server.asked] == ["/x?q=a+b"] * 2


def test_a_storm_ends_with_the_servers_own_words() -> None:
    with scripted(Answer(503, b"ingester is starting")) as server:
        with pytest.raises(WebError, match="503 ingester is starting") as refused:
            ask(server.url, tries=2)
        assert refused.value.status == 503
        assert len(server.asked) == 2


def test_retry_after_is_waited_for() -> None:
    with scripted(Answer(429, headers={"Retry-After": "2"}), OK) as server:
        ask(server.url)
        first, second = server.asked
        assert second.at - first.at >= 1.9


def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    with scripted(Answer(429, headers={"Retry-After": "3600"})) as server:
        started = time.monotonic()
        with pytest.raises(CollectError, match="timeout_seconds"):
            ask(server.url, seconds=1)
        assert time.monotonic() - started < 60


def test_half_a_reply_is_asked_for_again() -> None:
    with scripted(Answer(body=b'{"fine": true}', cut=5), OK) as server:
        assert ask(server.url).json() == {"fine": True}


def test_a_reply_that_is_always_cut_is_an_error() -> None:
    with scripted(Answer(body=b'{"fine": true}', cut=5)) as server, pytest.raises(WebError, match="GET http"):
        ask(server.url, tries=2)


def test_wrong_json_is_an_error_that_shows_it() -> None:
    with (
        scripted(Answer(body=b"<html>login</html>")) as server,
        pytest.raises(WebError, match=r"is not JSON.*<html>login"),
    ):
        ask(server.url).json()


def test_a_refusal_is_final() -> None:
    with scripted(Answer(400, b"parse error at line 1")) as server:
        with pytest.raises(WebError, match="400 parse error at line 1"):
            ask(server.url)
        assert len(server.asked) == 1


def test_a_hanging_server_costs_the_time_of_a_request() -> None:
    with scripted(Answer(seconds=2)) as server, pytest.raises(WebError, match=r"[Tt]ime"):
        ask(server.url, request_seconds=0.3, tries=1)


def test_a_name_that_does_not_resolve_is_told() -> None:
    with pytest.raises(WebError, match=r"NameResolution|resolve"):
        ask("http://no-such-host.invalid", tries=1)


def test_a_reply_longer_than_allowed_is_refused() -> None:
    with scripted(Answer(body=b"x" * 10_000)) as server, pytest.raises(WebError, match="longer than reply_bytes = 100"):
        ask(server.url, reply_bytes=100)


def test_a_rotated_token_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    with scripted(OK) as server:
        client = WebClient(WebSettings(url=server.url, auth="bearer", token_file=str(file)))
        client.get("/x", Budget.of(5))
        file.write_text("second\n")
        client.get("/x", Budget.of(5))
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer first", "Bearer second"]


def test_an_expired_token_is_had_again_from_its_command(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    command = ("sh", "-c", f"echo x >> {counter}; wc -l < {counter}")
    with scripted(Answer(401, b"expired"), OK) as server:
        assert ask(server.url, auth="bearer", token_command=command).json() == {"fine": True}
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer 1", "Bearer 2"]


def test_a_token_that_stays_refused_is_told_without_being_shown() -> None:
    with scripted(Answer(401, b"no")) as server:
        with pytest.raises(WebError, match="401 no; the token is wrong or expired") as refused:
            ask(server.url, auth="bearer", token="hush-hush")  # noqa: S106 -- a test's
        assert "hush" not in str(refused.value)
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"auth": "bearer"}, "0 of token, token_file and token_command"),
        ({"auth": "bearer", "token_file": "/no/such"}, "token_file /no/such: cannot be read"),
        ({"auth": "bearer", "token_command": ("false",)}, "token_command false: failed"),
        ({"auth": "mtls"}, "client_cert is missing"),
        ({"auth": "mtls", "client_cert": "/no/such"}, "TLS files"),
    ],
)
def test_credentials_that_cannot_be_used_are_named(settings: dict[str, Any], expected: str) -> None:
    with scripted(OK) as server, pytest.raises(AuthError, match=expected):
        ask(server.url, **settings)
