"""Sending requests of the client: connections that are kept, tries that pause, refusals as errors."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from random import random
from typing import TYPE_CHECKING, Any

import urllib3

from attribution_service.credentials import Anonymous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attribution_service.credentials import Credentials

__all__ = ["ClientError", "RefusedError", "Reply", "Transport", "UnreachableError", "asked_pause"]

_AGAIN = frozenset({429, 500, 502, 503, 504})
_UNDONE = frozenset({429, 503})
"""Nothing was done: also what must not be done twice may be tried again."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 20.0
_REFUSED = 400


class ClientError(Exception):
    """Root of what the client raises."""


class UnreachableError(ClientError):
    """No answer after every try; whether the last request was carried out is not known."""


class RefusedError(ClientError):
    """The service refused the request; ``problem`` holds the members of the problem document."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('title', '')}: {problem.get('detail', '')}{_faults(problem)}")
        self.status = status
        self.problem = problem

    @property
    def slug(self) -> str:
        """The last part of the problem's type, which is stable: ``duplicate-session``."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


def _faults(problem: Mapping[str, Any]) -> str:
    """The fields that a problem complains of, as ``; field: problem``."""
    found = problem.get("faults")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return "".join(f"; {row.get('field')}: {row.get('problem')}" for row in rows)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def _new_pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(maxsize=16, retries=False)


@dataclass(frozen=True, slots=True)
class Transport:
    """Requests to one API; threads may share one."""

    url: str
    credentials: Credentials = field(default_factory=Anonymous)
    timeout: float = 60.0
    tries: int = 5
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request to the API: an ``x-api-key``, say."""
    sleep: Callable[[float], None] = time.sleep
    pool: urllib3.PoolManager = field(default_factory=_new_pool)

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = True,
    ) -> Reply:
        """The answer of a route; ``RefusedError``, ``UnreachableError``.

        What is not ``repeatable`` is tried again only where the answer says that nothing was done.
        """
        url = f"{self.url.rstrip('/')}{path}"
        reply: Reply | None = None
        for pause in self._pauses():
            sent = {**self.headers, **(headers or {})}
            sent |= self.credentials.headers(method, url, sent, body)
            try:
                reply = self.send(method, url, body, sent)
            except urllib3.exceptions.HTTPError as error:
                if pause is None or not repeatable:
                    raise UnreachableError(f"{method} {url}: {error}") from error
                self.sleep(pause)
                continue
            if reply.status not in (_AGAIN if repeatable else _UNDONE) or pause is None:
                break
            self.sleep(max(pause, asked_pause(reply.headers.get("retry-after", ""))))
        if reply is None or reply.status >= _REFUSED:
            raise refused(reply)
        return reply

    def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """One try, to any address."""
        answer = self.pool.request(
            method, url, body=body or None, headers=dict(headers), timeout=self.timeout, redirect=False
        )
        return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.data)

    def _pauses(self) -> Iterator[float | None]:
        """Growing, with half of each left to chance; None with the last try."""
        for attempt in range(self.tries - 1):
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            yield longest * (0.5 + random() / 2)  # noqa: S311 -- spreads load, guards nothing
        yield None


def asked_pause(retry_after: str) -> float:
    """Seconds that a ``Retry-After`` asks for: a number, or an HTTP date (RFC 9110 §10.2.3); 0 when it is neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time()) if retry_after else 0.0
    except (ValueError, OverflowError):
        return 0.0


def refused(reply: Reply | None) -> RefusedError:
    """The error of an answer that is a refusal; also of one that is no problem document."""
    if reply is None:
        return RefusedError(0, {"title": "No answer"})
    try:
        problem = json.loads(reply.body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"title": "Refused", "detail": reply.body[:500].decode("utf-8", "replace")}
    return RefusedError(reply.status, problem)
