"""The part of API Gateway that the local server stands in for: HTTP requests to proxy events, proxy answers to HTTP."""

from __future__ import annotations

import base64
import json
import sys
import time
import traceback
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote
from uuid import uuid4

from attribution_blueprint.pages import CATCH_ALL
from attribution_service.errors import NotFoundError, ServiceError
from attribution_service.http.problems import PROBLEM_JSON, problem_document

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from attribution_blueprint.deployment import Deployment, Handler, Route
    from attribution_service.http.host import Host
    from dashboard.pages.library import Library

__all__ = ["Answer", "Gateway", "Invocation", "Request", "answer_problem", "is_page"]

_STAGE = "local"
_PAGES = "VerdictsFunction"
"""Who answers the catch-all route of the dashboard's own API."""

_API = "/v2"


class _MethodNotAllowedError(ServiceError):
    status = 405
    slug = "method-not-allowed"
    title = "Method not allowed"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as read from the connection."""

    method: str
    target: str
    """Path and query as sent."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    client: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(slots=True)
class Invocation:
    """What Lambda hands to a handler as its context, and the host that stands in for the deployment."""

    function_name: str
    attribution_host: Host | None
    timeout: float
    attribution_library: Library | None = None
    """What the pages are made from; None serves none."""
    aws_request_id: str = field(default_factory=lambda: str(uuid4()))
    memory_limit_in_mb: int = 1024
    started: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        """An ARN of no account."""
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Until the function's timeout; nobody is stopped by it here."""
        return max(0, int((self.started + self.timeout - time.monotonic()) * 1000))


class Gateway:
    """Routes requests to handlers; used by many threads at once."""

    def __init__(
        self,
        deployment: Deployment,
        handlers: Mapping[str, Handler],
        host: Host | None,
        library: Library | None = None,
    ) -> None:
        self._routes = deployment.routes
        self._timeouts = {name: function.timeout for name, function in deployment.functions.items()}
        self._names = {function.folder.name: name for name, function in deployment.functions.items()}
        self.handlers = handlers
        self.host = host
        self.library = library

    def answer(self, request: Request) -> Answer:
        """The answer of the function that the request's route belongs to; 404 or 405 when there is none.

        ``HEAD`` is answered as ``GET`` is; whoever sends the answer leaves the body out.
        """
        path, _, query = request.target.partition("?")
        if self.library is not None and is_page(path):
            return self._sent(_PAGES, _page_event(request, path, query))
        allowed = []
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match and route.method == ("GET" if request.method == "HEAD" else request.method):
                return self._proxied(route, match, request, query)
            if match:
                allowed.append(route.method)
        if allowed:
            refused = _MethodNotAllowedError(f"this path takes {', '.join(sorted(allowed))}")
            return answer_problem(refused, {"Allow": ", ".join(sorted(allowed))})
        hint = "; no path ends with a slash" if path.endswith("/") else ""
        return answer_problem(NotFoundError(f"there is no such route{hint}"))

    def function(self, name: str) -> str:
        """The logical id of a function by logical id, folder or ARN; ``NotFoundError`` names those there are."""
        short = name.partition(":function:")[2].partition(":")[0] or name
        logical = self._names.get(short, short)
        if logical not in self.handlers:
            msg = f"there is no function {short[:100]!r}; there are {', '.join(sorted(self._names))}"
            raise NotFoundError(msg)
        return logical

    def invoke(self, name: str, event: Any) -> tuple[bool, Any]:
        """Call a function by logical id, folder or ARN: (True, its answer), or (False, the error as Lambda reports it).

        ``NotFoundError`` when there is no such function.
        """
        logical = self.function(name)
        try:
            invocation = Invocation(logical, self.host, self._timeouts[logical], self.library)
            return True, self.handlers[logical](event, invocation)
        except Exception as error:  # noqa: BLE001 -- Lambda reports whatever a function raises
            trace = traceback.format_exc().splitlines()
            return False, {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": trace}

    def _proxied(self, route: Route, match: re.Match[str], request: Request, query: str) -> Answer:
        return self._sent(route.function, _event(route, match, request, query))

    def _sent(self, function: str, event: dict[str, Any]) -> Answer:
        worked, answer = self.invoke(function, event)
        if worked:
            return _read_answer(answer)
        sys.stderr.write("\n".join(answer["stackTrace"]) + "\n")
        return answer_problem(ServiceError("the function failed"))


def is_page(path: str) -> bool:
    """Whether a path belongs to the dashboard: every one outside of the API."""
    return path != _API and not path.startswith(f"{_API}/")


def answer_problem(error: ServiceError, headers: Mapping[str, str] | None = None, *, status: int = 0) -> Answer:
    """A refusal of the server itself, in the service's envelope; ``status`` where it is not the error's own."""
    document = problem_document(error, str(uuid4())) | {"status": status or error.status}
    return Answer(
        status or error.status, {"Content-Type": PROBLEM_JSON, **(headers or {})}, json.dumps(document).encode()
    )


def _event(route: Route, match: re.Match[str], request: Request, query: str) -> dict[str, Any]:
    """The REST API's proxy event of a route, with the body in Base64 as for binary media types."""
    path = request.target.partition("?")[0]
    many = parse_qs(query, keep_blank_values=True, errors="replace") or None
    return {
        "resource": route.path,
        "path": path,
        "httpMethod": route.method,
        "headers": dict(request.headers),
        "multiValueHeaders": {name: [value] for name, value in request.headers.items()},
        "queryStringParameters": {name: values[-1] for name, values in many.items()} if many else None,
        "multiValueQueryStringParameters": many,
        "pathParameters": {name: unquote(value) for name, value in match.groupdict().items()} or None,
        "stageVariables": None,
        "requestContext": {
            "resourcePath": route.path,
            "httpMethod": route.method,
            "path": path,
            "stage": _STAGE,
            "requestId": str(uuid4()),
            "requestTimeEpoch": int(time.time() * 1000),
            "identity": {"sourceIp": request.client, "userAgent": request.headers.get("user-agent", "")},
        },
        "body": base64.b64encode(request.body).decode() if request.body else None,
        "isBase64Encoded": bool(request.body),
    }


def _page_event(request: Request, path: str, query: str) -> dict[str, Any]:
    """The event of the catch-all route of an HTTP API (format 2.0)."""
    headers = {name: value for name, value in request.headers.items() if name != "cookie"}
    cookies = [cookie.strip() for cookie in request.headers.get("cookie", "").split(";") if cookie.strip()]
    return {
        "version": "2.0",
        "routeKey": CATCH_ALL,
        "rawPath": path,
        "rawQueryString": query,
        "cookies": cookies,
        "headers": headers,
        "requestContext": {
            "http": {"method": request.method, "path": path, "sourceIp": request.client},
            "routeKey": CATCH_ALL,
            "stage": CATCH_ALL,
            "requestId": str(uuid4()),
            "timeEpoch": int(time.time() * 1000),
        },
        "body": base64.b64encode(request.body).decode() if request.body else None,
        "isBase64Encoded": bool(request.body),
    }


def _read_answer(answer: Any) -> Answer:
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return answer_problem(ServiceError("the function gave no answer that a gateway takes"))
    headers = {str(name): str(value) for name, value in (answer.get("headers") or {}).items()}
    for name, values in (answer.get("multiValueHeaders") or {}).items():
        headers[str(name)] = ", ".join(map(str, values))
    if answer.get("cookies"):
        headers["Set-Cookie"] = str(answer["cookies"][0])
    body = answer.get("body") or ""
    data = base64.b64decode(body) if answer.get("isBase64Encoded") else str(body).encode("utf-8", "replace")
    return Answer(HTTPStatus(int(answer["statusCode"])), headers, data)
