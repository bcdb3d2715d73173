"""The deployed dashboard, asked as a browser behind a sign-in proxy asks: with tokens of an issuer of our own."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import boto3
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Issuer", "drive_pages", "issuing"]

_KEY = "one"
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404


@dataclass(frozen=True, slots=True)
class Issuer:
    """An identity provider as far as an authorizer needs one."""

    url: str
    key: rsa.RSAPrivateKey

    def token(self, **claims: object) -> str:
        """A signed token; ``claims`` on top of issuer, audience and times."""
        now = int(time.time())
        body = {"iss": self.url, "aud": "attribution", "sub": "me", "iat": now - 5, "exp": now + 600, **claims}
        signed = f"{_part({'alg': 'RS256', 'kid': _KEY, 'typ': 'JWT'})}.{_part(body)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_text(signature)}"


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer that publishes its keys on the loopback."""
    key = rsa.generate_private_key(65_537, 2_048)
    numbers = key.public_key().public_numbers()
    n, e = (_text(value.to_bytes((value.bit_length() + 7) // 8, "big")) for value in (numbers.n, numbers.e))
    keys = {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY, "n": n, "e": e}]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"jwks_uri": f"{url}/keys"} if self.path.startswith("/.well-known") else keys
            self.send_response(_OK)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Issuer(url, key)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def drive_pages(endpoint: str, stack: str, region: str, issuer: Issuer) -> None:
    """Every step is asserted."""
    host = f"{_api_id(endpoint, stack, region)}.execute-api.localhost:{endpoint.rpartition(':')[2]}"

    def ask(path: str, token: str = "", **more: Any) -> tuple[int, str]:
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        asked = urllib.request.Request(f"{endpoint}{path}", headers={"Host": host, **authorization}, **more)  # noqa: S310 -- http on the loopback
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 -- likewise
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    mine = issuer.token(**{"custom:clusters": "prod"})
    for token in ("", "a.b.c", issuer.token(aud="another"), issuer.token(exp=1), mine[:-8] + "AAAAAAAA"):
        assert ask("/", token)[0] == _UNAUTHORIZED, token
    for path in ("/", "/rules/XID", "/fleet", "/feedback", "/walkthrough/xid79-gpu-at-95c"):
        status, text = ask(path, mine)
        assert (status, text.startswith("<!doctype html>")) == (_OK, True), (path, status, text[:500])
    assert ask("/static/style.css", mine)[0] == _OK
    assert json.loads(ask("/rules.json", mine)[1])["page"] == "rules"
    assert ask("/verdict/prod/none/0", mine)[0] == _NOT_FOUND
    form = {"data": b"judgement=right", "method": "POST"}
    assert ask("/verdict/prod/none/0/feedback", mine, **form)[0] == _FORBIDDEN


def _api_id(endpoint: str, stack: str, region: str) -> str:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    apis = boto3.client("apigatewayv2", endpoint_url=endpoint, region_name=region, **keys).get_apis()["Items"]
    return str(next(api["ApiId"] for api in apis if api["Name"] == f"{stack}-dashboard"))


def _part(value: object) -> str:
    return _text(json.dumps(value).encode())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
