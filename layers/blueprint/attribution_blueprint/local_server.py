"""The service on one machine: the deployed handlers behind a threaded HTTP server, over the local store.

Binds to the loopback by default. Another address needs a token. The Host header is checked, so that a page in a browser
cannot reach the server under a name of its own; what another site's page sends is refused, and the API takes nothing
from pages at all.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import socket
import sys
import threading
from dataclasses import dataclass, field
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from attribution_blueprint.bounded import Bounded
from attribution_blueprint.gateway import Answer, Request, answer_problem, is_page
from attribution_service.deliver import UPLOAD_ROUTE_HINT
from attribution_service.errors import ForbiddenError, NotFoundError, ServiceError, TooLargeError
from attribution_service.settings import ServiceLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from attribution_blueprint.gateway import Gateway

__all__ = ["Guard", "LocalServer", "is_loopback"]

_MAX_BODY = 10 << 20
"""What the gateway takes. A refusal names the service's own limit: what is under this may be over that."""
_SERVED = ServiceLimits().request_bytes
_DRAINED = 64 << 20
"""A refused body is read up to this, so that the client gets to read the refusal."""
_IDLE_SECONDS = 75
_INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")
_UPLOAD, _LAMBDA = "/_upload/", "/2015-03-31/"
_UNAUTHORIZED = 401
_BODILESS = (204, 304)


class _UnauthorizedError(ServiceError):
    status = 401
    slug = "unauthorized"
    title = "A token is needed"


class _MisdirectedError(ServiceError):
    status = 421
    slug = "misdirected-request"
    title = "Not this server"


class _BadRequestError(ServiceError):
    status = 400
    slug = "bad-request"
    title = "Not a request that can be read"


class _LengthRequiredError(ServiceError):
    status = 411
    slug = "length-required"
    title = "A length is needed"


def _is_page(path: str) -> bool:
    return is_page(path.partition("?")[0]) and not path.startswith((_UPLOAD, _LAMBDA))


def _given_token(authorization: str, *, page: bool) -> bytes:
    """The token of a request: a bearer's, or of a page's reader the password, whatever the name."""
    scheme, _, value = authorization.partition(" ")
    if page and scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return value.encode("utf-8", "replace") if scheme == "Bearer" else authorization.encode("utf-8", "replace")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to this name or address."""
    return host in ("localhost", "::1") or re.fullmatch(r"127(?:\.\d{1,3}){3}", host) is not None


def _hostname(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class Guard:
    """Which requests are let in."""

    names: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    """Host names under which the server may be addressed."""
    token: str = field(default="", repr=False)
    """What ``Authorization: Bearer`` must carry; empty: nothing. A browser sends it as the password of Basic."""
    pages: bool = False
    """Whether the dashboard is served: its own pages may send forms."""

    def refusal(self, headers: Any, path: str) -> ServiceError | None:
        """Why a request is not let in; None when it is."""
        host = _hostname(headers.get("Host", ""))
        if host not in self.names:
            return _MisdirectedError(f"host {host[:100]!r} is not one of this server's", names=sorted(self.names))
        page = self.pages and _is_page(path)
        origin = headers.get("Origin")
        if origin is not None and not (page and origin.lower() == f"http://{headers.get('Host', '').lower()}"):
            return ForbiddenError("requests from pages of a browser are not taken, unless they are the dashboard's own")
        given = _given_token(headers.get("Authorization", ""), page=page)
        if self.token and not path.startswith(_UPLOAD) and not compare_digest(given, self.token.encode()):
            ask = "sign in with the server's token as the password" if page else "send Authorization: Bearer"
            return _UnauthorizedError(f"{ask}; the token is what the server was started with")
        return None

    def challenge(self, path: str) -> dict[str, str]:
        """What makes a browser ask for the token; clients of the API are asked for nothing."""
        basic = 'Basic realm="attribution", charset="UTF-8"'
        return {"WWW-Authenticate": basic} if self.pages and _is_page(path) else {}


class LocalServer(ThreadingHTTPServer):
    """One thread a connection. ``serve_forever`` runs until ``shutdown``; ``drain`` waits for requests under way."""

    daemon_threads = True
    request_queue_size = 128

    gateway: Gateway
    """Set before ``serve_forever``: the port may have to be known first."""
    accept_upload: Callable[[str, BinaryIO], None] | None = None

    def __init__(self, address: tuple[str, int], guard: Guard, *, lambda_api: bool = False) -> None:
        self.guard = guard
        self.lambda_api = lambda_api
        self.busy = 0
        self.idle = threading.Condition()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Connection)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away between two requests is no news; anything else is."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def drain(self, seconds: float) -> bool:
        """Wait until no request is under way; False when some still are after so long."""
        with self.idle:
            return self.idle.wait_for(lambda: self.busy == 0, seconds)


class _Connection(BaseHTTPRequestHandler):
    """Requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "attribution"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet; unbuffered they cost 40 ms a request (Nagle and delayed ACK)

    def version_string(self) -> str:
        """The server's name alone."""
        return self.server_version

    def log_message(self, *arguments: Any) -> None:
        """The functions log what they answer."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002 -- the base class's signature
        """What the base class refuses by itself (a broken request line, endless headers), in our envelope."""
        self.close_connection = True
        self._send(answer_problem(_BadRequestError(message or "the request cannot be read"), status=code))

    def _serve(self) -> None:
        server = cast("LocalServer", self.server)
        with server.idle:
            server.busy += 1
        try:
            self._send(self._answer(server))
        except (ConnectionError, TimeoutError):  # the client is gone
            self.close_connection = True
        finally:
            with server.idle:
                server.busy -= 1
                server.idle.notify_all()

    def __getattr__(self, name: str) -> Any:
        """Every method there is, or will be, goes the same way: the gateway knows which a route takes."""
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _answer(self, server: LocalServer) -> Answer:
        length, *more = self.headers.get_all("Content-Length") or ["0"]
        if more:  # a proxy may have taken another of them for the body's end
            self.close_connection = True
            return answer_problem(_BadRequestError("Content-Length is given more than once; send it once"))
        if "Transfer-Encoding" in self.headers or not re.fullmatch(r"\d{1,15}", length, re.ASCII):
            self.close_connection = True
            return answer_problem(_LengthRequiredError("send Content-Length; chunked bodies are not taken"))
        refusal = server.guard.refusal(self.headers, self.path)
        if refusal is not None:
            self._discard(int(length))
            unknown = refusal.status == _UNAUTHORIZED
            return answer_problem(refusal, server.guard.challenge(self.path) if unknown else None)
        if self.command == "PUT" and self.path.startswith(_UPLOAD) and server.accept_upload is not None:
            return self._upload(server.accept_upload, int(length))
        if int(length) > _MAX_BODY:
            self._discard(int(length))
            hint = {"upload": UPLOAD_ROUTE_HINT} if self.path.endswith("/observation") else {}
            return answer_problem(TooLargeError(f"the body has {length} bytes", limit=_SERVED, **hint))
        return self._dispatch(server, self.rfile.read(int(length)))

    def _dispatch(self, server: LocalServer, body: bytes) -> Answer:
        invoked = _INVOKE.fullmatch(self.path)
        if server.lambda_api and invoked and self.command == "POST":
            return self._invoke(server.gateway, unquote(invoked[1]), body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        return server.gateway.answer(Request(self.command, self.path, headers, body, str(self.client_address[0])))

    def _invoke(self, gateway: Gateway, name: str, body: bytes) -> Answer:
        """The Lambda API's Invoke: what ``aws lambda invoke --endpoint-url`` sends."""
        try:
            event = json.loads(body or b"{}")
        except ValueError:
            return self._lambda_refusal(400, "InvalidRequestContentException", "the payload is not JSON")
        kind = self.headers.get("X-Amz-Invocation-Type", "RequestResponse")
        try:
            gateway.function(name)
        except NotFoundError as error:
            return self._lambda_refusal(404, "ResourceNotFoundException", error.detail)
        if kind == "DryRun":
            return Answer(204, {})
        if kind == "Event":
            threading.Thread(target=gateway.invoke, args=(name, event)).start()
            return Answer(202, {})
        worked, answer = gateway.invoke(name, event)
        failed = {} if worked else {"X-Amz-Function-Error": "Unhandled"}
        headers = {"Content-Type": "application/json", "X-Amz-Executed-Version": "$LATEST", **failed}
        return Answer(200, headers, json.dumps(answer).encode())

    @staticmethod
    def _lambda_refusal(status: int, kind: str, message: str) -> Answer:
        headers = {"Content-Type": "application/json", "X-Amzn-ErrorType": kind}
        return Answer(status, headers, json.dumps({"Type": "User", "Message": message, "message": message}).encode())

    def _upload(self, accept: Callable[[str, BinaryIO], None], length: int) -> Answer:
        """A body that was announced: straight into the store, whatever its size."""
        body = Bounded(self.rfile, length)
        try:
            accept(self.path.removeprefix(_UPLOAD), cast("BinaryIO", body))
        except ServiceError as error:
            self._discard(body.left)
            return answer_problem(error)
        return Answer(200, {})

    def _discard(self, length: int) -> None:
        """Read a body that nobody wants, unless it is so long that closing is kinder."""
        if length > _DRAINED:
            self.close_connection = True
            return
        rest = Bounded(self.rfile, length)
        while rest.read(1 << 20):
            pass

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in _BODILESS:
            self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" and answer.status not in _BODILESS:
            self.wfile.write(answer.body)
        self.wfile.flush()
