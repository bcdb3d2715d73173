"""HTTP for connectors: bearer or mutual TLS, verified certificates, retries that heed Retry-After, bounded replies."""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import random
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import urllib3
from pydantic import Field
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from attribution_blueprint.connectors.auth.tokens import TokenSource, token_source
from attribution_blueprint.errors import AuthError, CollectError, WebError
from attribution_blueprint.setting_types import ComponentSettings, OptionalPath, Pairs, Seconds, Secret, Size, Texts
from attribution_service.transport import asked_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tenacity import RetryCallState

    from attribution_blueprint.connectors.base import Budget

__all__ = ["WebClient", "WebReply", "WebSettings", "addressed"]

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAUTHORISED = 401
_REFUSED = 400
_LONGEST_PAUSE = 60.0
_BLOCK = 1 << 20


class WebSettings(ComponentSettings):
    """Settings of every component that asks over HTTP."""

    url: str = Field(description="Base address, such as https://loki.example:3100.", pattern=r"^https?://[^/?#]+")
    auth: Literal["none", "bearer", "mtls"] = Field(default="none", description="How requests prove who sends them.")
    token: Secret = Field(default=Secret(""), description="Bearer token.")
    token_file: OptionalPath = Field(default="", description="File with the bearer token, read for every request.")
    token_command: Texts = Field(default=(), description="Command that prints the bearer token; run again on 401.")
    client_cert: OptionalPath = Field(default="", description="PEM certificate of the client, for mtls.")
    client_key: OptionalPath = Field(default="", description="PEM key of the client, for mtls.")
    ca_file: OptionalPath = Field(default="", description="PEM file of the authorities to trust; empty: the system's.")
    verify_tls: bool = Field(default=True, description="False trusts any server. Not for production.")
    headers: Pairs = Field(default={}, description="Further headers, such as X-Scope-OrgID of a tenant.")
    request_seconds: Seconds = Field(default=30.0, description="How long one request may take.")
    tries: int = Field(default=5, ge=1, le=20, description="How often a request is sent when the server is busy.")
    reply_bytes: Size = Field(default=64 << 20, description="Longest reply that is read.")


@dataclass(frozen=True, slots=True)
class WebReply:
    """One whole answer below 400; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    address: str

    def json(self) -> Any:
        """The body as JSON; ``WebError``."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            msg = f"{self.address}: the reply is not JSON ({error}); expected JSON, got {self.body[:80]!r}"
            raise WebError(msg, self.status) from None


class _AgainError(WebError):
    """May be tried again."""

    retry_after = 0.0


@dataclass(slots=True)
class WebClient:
    """Requests to one server; threads may share one. Nothing is opened before the first request."""

    settings: WebSettings
    vet: Callable[[str, int], str] | None = None
    """Gives the address to connect to for a host and port, or refuses; None: whatever the name resolves to."""
    _pool: urllib3.PoolManager | None = field(default=None, repr=False)
    _tokens: TokenSource | None = field(default=None, repr=False)

    def get(self, path: str, budget: Budget, query: Mapping[str, str | int] | None = None) -> WebReply:
        """The reply to a GET; see ``send``."""
        return self.send("GET", path + (f"?{urlencode(query)}" if query else ""), budget)

    def send(
        self, method: str, path: str, budget: Budget, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> WebReply:
        """One whole reply. Busy servers (429, 5xx), lost connections and cut replies are tried again.

        Pauses grow, are partly chance, and are never shorter than ``Retry-After`` says. ``WebError`` with the last
        reason, ``AuthError``, ``CollectError`` when the budget is over.
        """
        attempts = Retrying(
            stop=stop_after_attempt(self.settings.tries),
            wait=_pause,
            retry=retry_if_exception_type(_AgainError),
            sleep=budget.sleep,
            reraise=True,
        )
        reply: WebReply = attempts(self._authorised, method, path, budget, body, dict(headers or {}))
        return reply

    def _authorised(self, method: str, path: str, budget: Budget, body: bytes, headers: dict[str, str]) -> WebReply:
        """With the token; once more with a new one when it was refused."""
        if self.settings.auth != "bearer":
            return self._once(method, path, budget, body, headers)
        if self._tokens is None:
            chosen = self.settings
            self._tokens = token_source(chosen.token.get_secret_value(), chosen.token_file, chosen.token_command)
        for renew in (False, True):
            token = self._tokens.token(renew=renew)
            try:
                return self._once(method, path, budget, body, {**headers, "Authorization": f"Bearer {token}"})
            except WebError as error:
                if error.status != _UNAUTHORISED or renew:
                    raise
        raise AssertionError  # the second round returns or raises

    def _once(self, method: str, path: str, budget: Budget, body: bytes, headers: dict[str, str]) -> WebReply:
        chosen = self.settings
        url = chosen.url.rstrip("/") + path
        address = f"{method} {url.partition('?')[0]}"
        if self._pool is None:
            self._pool = urllib3.PoolManager(maxsize=8, retries=False, ssl_context=_trust(chosen))
        try:
            reply = self._request(method, url, body, {**chosen.headers, **headers}, budget)
            content = self._read(reply, address, budget)
        except urllib3.exceptions.HTTPError as error:
            msg = f"{address}: {_reason(error)}"
            raise _AgainError(msg, 0) from error
        names = {name.lower(): value for name, value in reply.headers.items()}
        if reply.status >= _REFUSED:
            raise _refusal(address, reply.status, names, content)
        return WebReply(reply.status, names, content, address)

    def _request(
        self, method: str, url: str, body: bytes, headers: dict[str, str], budget: Budget
    ) -> urllib3.BaseHTTPResponse:
        """Send to the server of the URL; with ``vet`` to the very address that was vetted, under the server's name."""
        assert self._pool is not None  # noqa: S101 -- the caller has made it
        timeout = budget.remaining(self.settings.request_seconds)
        rest: dict[str, Any] = {"body": body or None, "timeout": timeout, "redirect": False, "preload_content": False}
        if self.vet is None:
            return self._pool.request(method, url, headers=headers, **rest)
        target = urllib3.util.parse_url(url)
        secure = target.scheme == "https"
        host, port = target.host or "", target.port or (443 if secure else 80)
        named = {"server_hostname": host, "assert_hostname": host} if secure and self.settings.verify_tls else {}
        pool = self._pool.connection_from_host(self.vet(host, port), port, target.scheme, pool_kwargs=named)
        return pool.urlopen(method, target.request_uri, headers={"Host": target.netloc or host, **headers}, **rest)

    def _read(self, reply: urllib3.BaseHTTPResponse, address: str, budget: Budget) -> bytes:
        content = bytearray()
        try:
            for block in reply.stream(_BLOCK, decode_content=True):
                content += block
                budget.remaining()
                _bounded(len(content), self.settings.reply_bytes, address)
        except BaseException:
            reply.close()
            raise
        reply.release_conn()
        return bytes(content)


@contextmanager
def addressed(address: str) -> Iterator[None]:
    """Put the address before what a reader of replies complains of."""
    try:
        yield
    except CollectError as error:
        msg = f"{address}: {error}"
        raise CollectError(msg) from error


def _bounded(size: int, limit: int, address: str) -> None:
    if size > limit:
        msg = f"{address}: the reply is longer than reply_bytes = {limit}"
        raise WebError(msg, 0)


def _trust(settings: WebSettings) -> ssl.SSLContext:
    """Whom to trust, and what to show."""
    mutual = settings.auth == "mtls"
    if mutual and not settings.client_cert:
        msg = "auth = mtls: client_cert is missing; expected a PEM file"
        raise AuthError(msg)
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if mutual:
            context.load_cert_chain(settings.client_cert, settings.client_key or None)
    except (OSError, ssl.SSLError) as error:
        msg = f"TLS files of {settings.url}: {error}; expected PEM files that can be read"
        raise AuthError(msg) from error
    if not settings.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refusal(address: str, status: int, headers: Mapping[str, str], content: bytes) -> WebError:
    said = " ".join(content[:300].decode("utf-8", "replace").split())
    hint = "; the token is wrong or expired" if status == _UNAUTHORISED else ""
    msg = f"{address}: {status} {said}{hint}"
    if status not in _AGAIN:
        return WebError(msg, status)
    again = _AgainError(msg, status)
    again.retry_after = asked_pause(headers.get("retry-after", ""))
    return again


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after if isinstance(error, _AgainError) else 0.0
    grown = min(_LONGEST_PAUSE, 0.5 * 2.0 ** (state.attempt_number - 1))
    return max(asked, grown * (0.5 + random() / 2))  # noqa: S311 -- spreads load, guards nothing


def _reason(error: Exception) -> str:
    """The innermost reason, in words: ``NameResolutionError`` rather than a chain of wrappers."""
    text = " ".join(str(getattr(error, "reason", None) or error).split())
    return f"{type(error).__name__}: {text[:300]}"
