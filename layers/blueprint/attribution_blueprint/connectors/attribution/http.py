"""The service over HTTP."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from attribution_blueprint.connectors.attribution.base import Delivered, Handle
from attribution_blueprint.connectors.attribution.wire import NDJSON, encode, header_of
from attribution_blueprint.connectors.auth.tokens import token_source
from attribution_blueprint.errors import (
    AttributionFailedError,
    AttributorConflictError,
    AuthError,
    CollectError,
    SubmissionError,
)
from attribution_lib.observation import ObservationFormat
from attribution_lib.parsing.limits import DEFAULT_LIMITS
from attribution_lib.verdict import SCHEMA_VERSION
from attribution_service.client import (
    Anonymous,
    Client,
    ClientError,
    RefusedError,
    SignedV4,
    Transport,
    UnreachableError,
)
from attribution_service.model import UploadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from attribution_blueprint.connectors.attribution.base import AttributionSettings
    from attribution_blueprint.connectors.auth.tokens import TokenSource
    from attribution_blueprint.connectors.base import Budget
    from attribution_lib.observation import Observation
    from attribution_lib.verdict import Verdict
    from attribution_service.client import Credentials, Delivery
    from attribution_service.model import SessionView

__all__ = ["HttpAttribution"]

T = TypeVar("T")
_CONFLICT = "duplicate-session"
_OTHER_CONTENT = "observation-conflict"
_GONE = "not-found"
_UNAUTHORISED = 401
_LONGEST_PAUSE = 120.0
_LONGEST_REOPEN = 10.0
_OBSERVATION_SCHEMA = "2"


@dataclass(slots=True)
class _Token:
    """A bearer token that is had anew after a refusal."""

    source: TokenSource
    renew: bool = field(default=False)

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:  # noqa: ARG002 -- the protocol's
        """The token as it is now."""
        renew, self.renew = self.renew, False
        return {"Authorization": f"Bearer {self.source.token(renew=renew)}"}


class HttpAttribution:
    """Calls the v2 API. Busy servers and lost connections are tried again; threads share one."""

    def __init__(self, settings: AttributionSettings) -> None:
        self.settings = settings
        self._credentials = _credentials(settings)
        transport = Transport(
            settings.service_url,
            self._credentials,
            timeout=settings.request_seconds,
            tries=settings.tries,
            sleep=lambda seconds: time.sleep(min(seconds, _LONGEST_PAUSE)),
        )
        self._client = Client(transport)

    def check(self) -> None:
        """The service must be there and speak our versions of the schemas."""
        with _failures(self.settings.service_url):
            health = self._call(self._client.health)
        if health.verdict_schema != SCHEMA_VERSION or _OBSERVATION_SCHEMA not in health.accepted_observation_schemas:
            msg = (
                f"{self.settings.service_url}: verdicts of schema {health.verdict_schema}, observations of "
                f"{health.accepted_observation_schemas}; expected {SCHEMA_VERSION} and {_OBSERVATION_SCHEMA}"
            )
            raise AttributionFailedError(msg)

    def open(self, job: Mapping[str, Any]) -> Handle:
        """A new session; tried again while the service is away.

        An answer that is lost on the way may leave a session of ours behind until its time is over: the next try then
        meets it as a conflict, because nothing proves that it is ours.
        """
        try:
            with _failures("open"):
                view = self._open(job)
        except AttributionFailedError as error:
            refusal = error.__cause__
            if isinstance(refusal, RefusedError) and refusal.slug == _CONFLICT:
                raise AttributorConflictError(str(refusal.problem.get("attributor_id", ""))) from refusal
            raise
        return Handle(view.attributor_id)

    def _open(self, job: Mapping[str, Any]) -> SessionView:
        for pause in range(self.settings.tries - 1):
            try:
                return self._call(lambda: self._client.open(job, ttl=int(self.settings.ttl_seconds)))
            except UnreachableError:
                time.sleep(min(_LONGEST_REOPEN, 0.5 * 2**pause))
        return self._call(lambda: self._client.open(job, ttl=int(self.settings.ttl_seconds)))

    def submit(self, handle: Handle, observation: Observation) -> Delivered:
        """Inline where it fits, else by an upload."""
        try:
            with _failures(f"{observation.stream}:{observation.first_line}"):
                delivery = self._deliver(handle.attributor_id, observation)
        except AttributionFailedError as error:
            refusal = error.__cause__
            conflict = isinstance(refusal, RefusedError) and refusal.slug == _OTHER_CONTENT
            raise SubmissionError(str(error), conflict=conflict) from refusal
        return Delivered.DUPLICATE if delivery.duplicate else Delivered.NEW

    def _deliver(self, attributor_id: str, observation: Observation) -> Delivery:
        body = encode(observation)
        packed = gzip.compress(body, compresslevel=1, mtime=0)
        if len(packed) <= DEFAULT_LIMITS.wire_bytes and len(body) <= DEFAULT_LIMITS.inline_bytes:
            return self._call(lambda: self._client.observe(attributor_id, packed, content_type=NDJSON))
        content = gzip.compress(_object(observation, body), compresslevel=1, mtime=0)
        request = UploadRequest(
            source=observation.source,
            format=observation.format,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        ticket = self._call(lambda: self._client.announce(attributor_id, request))
        self._client.put(ticket, content)
        named = json.dumps({**header_of(observation), "object_key": ticket.object_key}).encode()
        return self._call(lambda: self._client.observe(attributor_id, named))

    def verdict(self, handle: Handle, budget: Budget) -> Verdict:
        """The verdict, asked for again as long as the service is still at it."""
        with _failures("attribution"):
            while True:
                fetched = self._call(lambda: self._client.attribute(handle.attributor_id))
                if fetched.verdict is not None:
                    return fetched.verdict
                try:
                    budget.sleep(max(0.2, float(fetched.retry_after)))
                except CollectError as error:
                    msg = f"no verdict within timeout_seconds = {self.settings.timeout_seconds:g}"
                    raise AttributionFailedError(msg) from error

    def delete(self, handle: Handle) -> None:
        """Remove the session."""
        try:
            with _failures("delete"):
                self._call(lambda: self._client.delete(handle.attributor_id))
        except AttributionFailedError as error:
            refusal = error.__cause__
            if not (isinstance(refusal, RefusedError) and refusal.slug == _GONE):
                raise

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:  # noqa: ARG002 -- the protocol's
        """The API has no such route: the service adds history where it stores verdicts itself."""
        return {}

    def close(self) -> None:
        """Drop kept connections."""
        self._client.transport.pool.clear()

    def _call(self, call: Callable[[], T]) -> T:
        """The call; once more with a new token when the token was refused."""
        try:
            return call()
        except RefusedError as error:
            if error.status != _UNAUTHORISED or not isinstance(self._credentials, _Token):
                raise
            self._credentials.renew = True
            return call()


def _credentials(settings: AttributionSettings) -> Credentials:
    if settings.auth == "sigv4":
        return SignedV4(settings.region)
    if settings.auth == "bearer":
        return _Token(token_source(settings.token.get_secret_value(), settings.token_file, settings.token_command))
    return Anonymous()


def _object(observation: Observation, body: bytes) -> bytes:
    """What is uploaded: the raw text, a JSON array of series, or one entry a line."""
    if observation.format is ObservationFormat.TEXT:
        return observation.text
    rows = body.partition(b"\n")[2]
    matrix = observation.format is ObservationFormat.PROMETHEUS_MATRIX
    return b"[" + rows.replace(b"\n", b",") + b"]" if matrix else rows


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Refusals, lost connections and answers that are none, as our error; the original is its cause."""
    try:
        yield
    except (ClientError, AuthError, LookupError, ImportError, ValueError) as error:
        reason = str(error) if isinstance(error, ClientError | AuthError) else f"the answer is unusable: {error}"
        msg = f"{what}: {' '.join(reason.split())[:500]}"
        raise AttributionFailedError(msg) from error
