"""The service over HTTP."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from attribution_blueprint.connectors.attribution.base import Delivered, Handle
from attribution_blueprint.connectors.attribution.credentials import renewing, service_credentials
from attribution_blueprint.connectors.attribution.wire import NDJSON, encode, header_of
from attribution_blueprint.connectors.output.base import HISTORY_SECONDS
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
    Client,
    ClientError,
    RefusedError,
    Transport,
    UnreachableError,
)
from attribution_service.model import UploadRequest
from attribution_service.times import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from attribution_blueprint.connectors.attribution.base import AttributionSettings
    from attribution_blueprint.connectors.base import Budget
    from attribution_lib.observation import Observation
    from attribution_lib.verdict import Verdict
    from attribution_service.client import Delivery
    from attribution_service.model import SessionView

__all__ = ["HttpAttribution"]

T = TypeVar("T")
_CONFLICT = "duplicate-session"
_OTHER_CONTENT = "observation-conflict"
_GONE = "not-found"
_HISTORY_NODES, _HISTORY_PAGES, _HISTORY_LIMIT = 20, 20, 200
"""History decorates a verdict: it is counted for the first nodes blamed, and up to so many verdicts of each."""
_LONGEST_PAUSE = 120.0
_LONGEST_REOPEN = 10.0
_OBSERVATION_SCHEMA = "2"


class HttpAttribution:
    """Calls the v2 API. Busy servers and lost connections are tried again; threads share one."""

    def __init__(self, settings: AttributionSettings) -> None:
        self.settings = settings
        self._credentials = service_credentials(settings)
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

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:
        """Of the verdicts that the service keeps: jobs of the last 30 days whose verdict blamed the node."""
        since = rfc3339(int(time.time()) - HISTORY_SECONDS)
        with _failures("history"):
            return {node: self._failures_of(cluster, node, since) for node in list(nodes)[:_HISTORY_NODES]}

    def _failures_of(self, cluster: str, node: str, since: str) -> int:
        jobs: set[tuple[str, int]] = set()
        cursor: str | None = None
        for _ in range(_HISTORY_PAGES):
            asked = {"cluster": cluster, "node": node, "cursor": cursor, "limit": _HISTORY_LIMIT}
            page = self._call(partial(self._client.verdicts, **asked))
            recent = [head for head in page.verdicts if (head.attributed_at or head.stored_at) >= since]
            jobs.update((head.job_id, head.attempt) for head in recent)
            cursor = page.cursor
            if cursor is None or len(recent) < len(page.verdicts):  # newest first
                break
        return len(jobs)

    def close(self) -> None:
        """Drop kept connections."""
        self._client.transport.pool.clear()

    def _call(self, call: Callable[[], T]) -> T:
        return renewing(self._credentials, call)


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
