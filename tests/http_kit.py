"""What tests of the HTTP side share: a server over a local store with settings and a clock of the test's choosing."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attribution_blueprint.deployment import read_deployment, template_path
from attribution_blueprint.gateway import Gateway, Invocation
from attribution_blueprint.local import load_engine
from attribution_blueprint.local_server import Guard, LocalServer
from attribution_service.http.access import Access
from attribution_service.http.host import Host
from attribution_service.service import Service
from attribution_service.settings import Settings
from attribution_service.stores.local import open_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attribution_service.stores.local import LocalBackEnd

ROOT = Path(__file__).parents[1]
DEPLOYMENT = read_deployment(template_path())
ENGINE = cache(load_engine)
JOB = {"job_id": "4711", "cluster": "prod", "nodes": "gpu-[0001-0004]", "start": "2026-06-02T20:00:00Z"}
SESSION = "/v2/attributor/prod:4711:0"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def slug(self) -> str:
        """The kind of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.json["status"] == self.status
        return str(self.json["type"]).rpartition(":")[2]


@dataclass(slots=True)
class Api:
    """A server under test."""

    port: int
    host: Host | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, method: str, path: str, body: bytes | str | dict[str, Any] | None = None, **headers: str
    ) -> Reply:
        """Send one request on a connection of its own; header names with ``_`` for ``-``."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict):
            body = json.dumps(body)
            given = {"Content-Type": "application/json", **given}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {**self.headers, **given})
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def open(self, job: Mapping[str, Any] = JOB, **fields: Any) -> Reply:
        return self("POST", "/v2/attributor", {"job": dict(job), **fields})

    def observe(self, *lines: str, session: str = SESSION, **header: Any) -> Reply:
        return self("POST", f"{session}/observation", observation(*lines, **header))


def observation(*lines: Any, **header: Any) -> dict[str, Any]:
    return {"source": "applog", "format": "text", "stream": "a.log", "entry_timeseries": list(lines), **header}


@contextmanager
def local_host(  # noqa: PLR0913 -- what a test may choose, all keyword-only
    folder: Path,
    *,
    settings: Settings | None = None,
    clock: Callable[[], float] = time.time,
    access: Access | None = None,
    invoke_later: Callable[[str], None] | None = None,
    base_url: str = "http://127.0.0.1:1",
) -> Iterator[tuple[Host, LocalBackEnd]]:
    """A host over a local store; metrics go to ``host.written``."""
    back_end = open_local(folder, base_url=base_url, clock=clock)
    service = Service(back_end.store, ENGINE, clock, settings or Settings(), invoke_later)
    try:
        yield Host(service, access or Access(), write_metrics=lambda _: None), back_end
    finally:
        back_end.close()


@contextmanager
def running(folder: Path, *, guard: Guard | None = None, lambda_api: bool = False, **host: Any) -> Iterator[Api]:
    """A server in a thread of this process, over the deployed handlers."""
    server = LocalServer(("127.0.0.1", 0), guard or Guard(), lambda_api=lambda_api)
    with local_host(folder, base_url=f"http://127.0.0.1:{server.port}", **host) as (made, back_end):
        server.gateway = Gateway(DEPLOYMENT, DEPLOYMENT.load(), made)
        server.accept_upload = lambda token, body: back_end.uploads.accept(token, body, back_end.store.objects)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Api(server.port, made)
        finally:
            server.shutdown()
            thread.join()
            server.drain(10)
            server.server_close()


def invoke(function: str, event: dict[str, Any], host: Host) -> Any:
    """Call a function's handler as Lambda would."""
    name = next(name for name, known in DEPLOYMENT.functions.items() if known.folder.name == function)
    return DEPLOYMENT.load()[name](event, Invocation(name, host, 30))
