"""What every HTTP function shares: routing, one envelope for errors, a correlation id in every log line, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote
from uuid import uuid4

from aws_lambda_powertools import Logger

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError, NotFoundError, ServiceError
from attribution_service.http.access import caller_of
from attribution_service.http.bodies import json_body, raw_body, require_known_encoding
from attribution_service.http.host import host_of
from attribution_service.http.metrics import Meter
from attribution_service.http.problems import problem
from attribution_service.http.resolver import Resolver
from attribution_service.requests import read_json_object, read_request, validated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_lambda_powertools.event_handler import Response
    from pydantic import BaseModel

    from attribution_service.http.host import Host
    from attribution_service.service import Caller, Service

__all__ = ["LOGGER", "Call", "Function"]

LOGGER = "attribution"
M = TypeVar("M", bound="BaseModel")
_FAILED = 500


class Call:
    """One request: the service and the caller, the body and the parameters, and what is counted on the way."""

    def __init__(self, event: Mapping[str, Any], host: Host) -> None:
        self.event = event
        self.host = host
        self.meter = Meter()
        self.headers = {str(key).lower(): str(value) for key, value in (event.get("headers") or {}).items()}
        self.request_id = str((event.get("requestContext") or {}).get("requestId") or uuid4())

    @property
    def service(self) -> Service:
        """The service of this process."""
        return self.host.service

    @property
    def caller(self) -> Caller:
        """Who sent the request."""
        return caller_of(self.event, self.host.access)

    def body(self) -> bytes:
        """The body as it was sent, compressed or not."""
        require_known_encoding(self.headers)
        return raw_body(self.event)

    def read(self, model: type[M]) -> M:
        """The JSON body as a request; ``InvalidRequestError`` names every field that is wrong."""
        limits = self.service.settings.limits
        return read_request(model, json_body(self.event, self.headers, limits.request_bytes), limits)

    def read_object(self) -> dict[str, Any]:
        """The JSON body as an object whose keys the service checks."""
        limits = self.service.settings.limits
        return read_json_object(json_body(self.event, self.headers, limits.request_bytes), limits)

    def query(self, model: type[M], names: Mapping[str, str] | None = None, **path: str) -> M:
        """Query parameters, and those of the path, as a model; repeated and unknown ones are refused.

        ``names``: {parameter: field} where the two differ.
        """
        given = self.event.get("multiValueQueryStringParameters") or {}
        values = {name: found[0] for name, found in given.items()} or self.event.get("queryStringParameters") or {}
        renamed = names or {}
        faults = [Fault(name[:100], "", "given more than once", "one value") for name in given if len(given[name]) > 1]
        taken = {*path, *renamed.values()}
        faults += [Fault(name[:100], "", "no such parameter") for name in values if name in taken]
        if faults:
            raise InvalidRequestError("the request is not valid", faults)
        fields = {renamed.get(name, name): value for name, value in values.items()}
        return validated(model, fields | {name: unquote(value) for name, value in path.items()})


class Function:
    """One Lambda function: ``resolver`` takes the routes, ``handler`` is what Lambda calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.logger = Logger(service=LOGGER)
        self.resolver = Resolver()
        self.tasks: dict[str, Callable[[Host, Mapping[str, Any]], Any]] = {}
        """{key of a direct invocation's event: what it asks for}."""
        self.resolver.exception_handler(ServiceError)(self._refused)
        self.resolver.exception_handler(Exception)(self._crashed)
        self.resolver.not_found(self._unknown_route)

    @property
    def call(self) -> Call:
        """The request that is being handled."""
        found: Call = self.resolver.context["call"]
        return found

    def handler(self, event: dict[str, Any], context: Any) -> Any:
        """The answer to one event: of the gateway, or a direct invocation (which raises ``ServiceError``)."""
        host = host_of(context)
        if not isinstance(event, dict):
            raise InvalidRequestError(f"the event is {type(event).__name__}; {self._taken()}")
        task = next((key for key in self.tasks if key in event), None)
        call = Call(event, host)
        request = str(getattr(context, "aws_request_id", ""))
        self.logger.thread_safe_clear_keys()
        self.logger.thread_safe_append_keys(correlation_id=call.request_id, function=self.name, lambda_request=request)
        try:
            if task is not None:
                return self.tasks[task](host, event)
            if not event.keys() >= {"httpMethod", "path"}:
                raise InvalidRequestError(f"the event is no request; {self._taken()}")
            return self._answer(call, context)
        finally:
            call.meter.flush(host.write_metrics, host.service.clock())

    def _taken(self) -> str:
        tasks = f", or a task: an object with the key {' or '.join(sorted(self.tasks))}" if self.tasks else ""
        return f"send one as API Gateway does{tasks}"

    def _answer(self, call: Call, context: Any) -> dict[str, Any]:
        answer = self.resolver.resolve(call.event, context, call=call)
        answer["multiValueHeaders"] = {**answer.get("multiValueHeaders", {}), "X-Request-Id": [call.request_id]}
        self.logger.info(
            "answered",
            method=call.event.get("httpMethod"),
            route=call.event.get("resource"),
            status=answer["statusCode"],
        )
        return answer

    def _refused(self, error: ServiceError) -> Response[str]:
        report = self.logger.error if error.status >= _FAILED else self.logger.info
        report(f"refused: {error.slug}", problem=error.slug, detail=error.detail[:500])
        return problem(error, self.call.request_id)

    def _crashed(self, error: Exception) -> Response[str]:
        """Whatever was not raised on purpose, also a response that cannot be made: never the client's fault."""
        self.logger.error("crashed", error=type(error).__name__, exc_info=error)
        return problem(ServiceError("the service failed; its log has more under this request id"), self.call.request_id)

    def _unknown_route(self, _: Exception) -> Response[str]:
        return problem(NotFoundError("there is no such route"), self.call.request_id)
