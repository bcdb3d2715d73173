"""What service tests share: stores of both kinds, a service with a clock that a test moves, bodies in one call."""

from __future__ import annotations

import json
import os
import tempfile
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from moto import mock_aws

from attribution_service.attribute import attribute
from attribution_service.ingest import ingest
from attribution_service.model import OpenRequest
from attribution_service.service import EVERYTHING, Service
from attribution_service.sessions import open_session
from attribution_service.settings import Settings
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from attribution_service.stores.local import open_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.model import Receipt
    from attribution_service.ports import Store
    from attribution_service.service import Caller

REGION = "us-east-1"
_CLOSED_TRIES = 20


def fast_folder() -> Path:
    """A new folder where syncs cost little: what a test stores need not outlive the machine."""
    memory = Path("/dev/shm")  # noqa: S108 -- a RAM disk, and the name below it is random
    return Path(tempfile.mkdtemp(prefix="attribution-", dir=memory if memory.is_dir() else None))


@contextmanager
def moto_store() -> Iterator[Store]:
    """A store over moto, in this process, with a bucket and tables of its own."""
    with mock_aws():
        s3, dynamodb = aws_clients(region=REGION)
        yield make_aws_store(PastClosedFiles(s3), dynamodb)


@contextmanager
def seaweed_store() -> Iterator[Store]:
    """A store with its objects on the S3 server that ``ATTRIBUTION_TEST_S3`` names and its items in moto."""
    with mock_aws(config={"core": {"mock_credentials": False}}):
        yield make_aws_store(*aws_clients(region=REGION, s3_endpoint=os.environ["ATTRIBUTION_TEST_S3"]))


def make_aws_store(s3: Any, dynamodb: Any) -> Store:
    """Make a bucket and the two tables; the store over them."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    names = AwsNames(name, f"{name}-sessions", f"{name}-verdicts")
    s3.create_bucket(Bucket=name)
    dynamodb.create_table(**table_definition(names.sessions_table, SESSION_INDEXES))
    dynamodb.create_table(**table_definition(names.verdicts_table, VERDICT_INDEXES))
    return aws_store(names, s3, OneAtATime(dynamodb), sleep=lambda _: None)


class OneAtATime:
    """A client whose calls do not overlap: moto writes in two steps, and trips where it reads meanwhile."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = Lock()

    def get_paginator(self, operation: str) -> Any:
        """All pages of one listing at once."""
        return OneListing(self._client.get_paginator(operation), self._lock)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not name.endswith("_item") and name != "query":
            return found

        def call(**arguments: Any) -> Any:
            with self._lock:
                return found(**arguments)

        return call


class OneListing:
    """A paginator whose pages are read together, while nothing is written."""

    def __init__(self, paginator: Any, lock: Lock) -> None:
        self._paginator = paginator
        self._lock = lock

    def paginate(self, **arguments: Any) -> Any:
        with self._lock:
            return iter(list(self._paginator.paginate(**arguments)))


class PastClosedFiles:
    """A client that reads again where moto trips: it closes a deleted object's file before it forgets the key."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in ("get_object", "head_object", "list_objects_v2"):
            return found

        def call(**arguments: Any) -> Any:
            for _ in range(_CLOSED_TRIES):
                with suppress(ValueError):  # "I/O operation on closed file"; boto3's own errors are others
                    return found(**arguments)
            return found(**arguments)

        return call


@contextmanager
def local_folder_store(
    folder: Path,
    clock: Callable[[], float] = time.time,
    *,
    durable: bool = True,
    step: Callable[[str], None] = lambda _: None,
) -> Iterator[Store]:
    """A store in a folder."""
    back_end = open_local(folder, clock=clock, durable=durable, step=step)
    try:
        yield back_end.store
    finally:
        back_end.close()


START = 1_780_000_000
"""The moment at which a test's clock stands: 2026-05-28T20:26:40Z."""


class World:
    """A service with everything a test wants to turn: clock, rules, settings."""

    def __init__(self, store: Store, engine: RuleEngine, settings: Settings | None = None) -> None:
        self.now = float(START)
        self.engine = engine
        self.later: list[str] = []
        self.service = Service(store, lambda: self.engine, lambda: self.now, settings or Settings())

    def with_settings(self, **settings: Any) -> Service:
        """The service with other settings, for every call from now on."""
        self.service = replace(self.service, settings=Settings(**settings))
        return self.service

    def asynchronous(self) -> Service:
        """The service with a queue: what it puts off is appended to ``later``."""
        self.service = replace(self.service, invoke_later=self.later.append)
        return self.service

    def open(self, attributor_id: str = "s", *, caller: Caller = EVERYTHING, ttl: int = 3600, **job: Any) -> str:
        """Open a session of a failed two-node job."""
        fields = {"job_id": "4711", "nodes": ["n1", "n2"], "state": "FAILED", **job}
        request = OpenRequest(job=fields, attributor_id=attributor_id, ttl_seconds=ttl)
        return open_session(self.service, caller, request).attributor_id

    def send(self, *lines: Any, session: str = "s", **header: Any) -> Receipt:
        """Ingest lines of an application log."""
        return ingest(self.service, EVERYTHING, session, body_of(*lines, **header))

    def verdict(self, session: str = "s") -> dict[str, Any]:
        """The verdict now."""
        found: dict[str, Any] = json.loads(attribute(self.service, EVERYTHING, session).verdict)
        return found

    def listed(self, prefix: str = "") -> list[str]:
        """The keys of all objects under a prefix."""
        return [info.key for info in self.service.store.objects.list(prefix)]


def body_of(*entries: Any, **header: Any) -> bytes:
    """An observation as JSON."""
    fields = {"source": "applog", "format": "text", "stream": "a.log", **header}
    return json.dumps({**fields, "entry_timeseries": list(entries)}).encode()
