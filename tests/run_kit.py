"""What tests of whole runs share: a configuration in one call, collectors that misbehave, the outcome of a run."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.attribution.base import AttributionSettings, Handle
from attribution_blueprint.connectors.attribution.http import HttpAttribution
from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
from attribution_blueprint.orchestrator import Orchestrator
from attribution_blueprint.settings import read_configuration
from attribution_lib.observation import Observation, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

LINE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
JOB = {"job_id": "1", "cluster": "c", "state": "FAILED", "nodes": ["n1"]}
"""What an attribution service is told of a failed job."""


def write_jobs(folder: Path, count: int, *, state: str = "FAILED") -> Path:
    """So many case folders, each of a job that ran out of memory."""
    cases = folder / "cases"
    for number in range(count):
        case = cases / f"job-{number:04d}"
        case.mkdir(parents=True)
        (case / "job.toml").write_text(
            f'job_id = "{1000 + number}"\ncluster = "c"\nstate = "{state}"\nnodes = ["n1"]\n'
        )
        (case / "applog.log").write_text(f"starting {number}\n{LINE}\n")
    return cases


def configuration_file(folder: Path, cases: Path, text: str = "", **attribution: str) -> Path:
    """A configuration of case folders with a database; ``text`` is appended."""
    service = "".join(f'{name} = "{value}"\n' for name, value in {"data": str(folder / "store"), **attribution}.items())
    path = folder / "site.toml"
    path.write_text(
        f'[eca.static]\ncases = ["{cases}"]\n[log.app.file]\n[output.db.sqlite]\npath = "{folder}/v.db"\n'
        f"[attribution]\n{service}{text}"
    )
    return path


@contextmanager
def local_service_of(folder: Path) -> Iterator[InProcessAttribution]:
    """Attribution in this process, over a store in the folder."""
    service = InProcessAttribution(AttributionSettings(data=str(folder / "store")))
    try:
        yield service
    finally:
        service.close()


@contextmanager
def http_service_of(url: str, **settings: Any) -> Iterator[HttpAttribution]:
    """Attribution over HTTP."""
    service = HttpAttribution(AttributionSettings(service_url=url, **settings))
    try:
        yield service
    finally:
        service.close()


def orchestrate(file: Path, service: Any, environment: Mapping[str, str] | None = None) -> Orchestrator:
    """Run one configuration to its end."""
    found = Orchestrator(read_configuration(file, environment or {}), service)
    found.run()
    return found


def open_sessions(service: InProcessAttribution) -> list[str]:
    """The sessions that are open in the store."""
    from attribution_service.model import SessionQuery  # noqa: PLC0415 -- only this looks behind the curtain
    from attribution_service.service import EVERYTHING  # noqa: PLC0415 -- likewise
    from attribution_service.sessions import list_sessions  # noqa: PLC0415 -- likewise

    return [found.attributor_id for found in list_sessions(service._service, EVERYTHING, SessionQuery()).sessions]


@dataclass(slots=True)
class Misbehaving:
    """A collector that yields a batch and then does what it is told: hang, break, bring another source."""

    how: str
    source: Source = Source.APPLOG

    def plan(self, context: ExecutionContext) -> list[str]:  # noqa: ARG002 -- the protocol's
        return ["a place"]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:  # noqa: ARG002 -- the protocol's
        yield Observation(Source.APPLOG, stream="m.log", text=b"first batch\n")
        if self.how == "hang":
            threading.Event().wait(20)
        elif self.how == "wait":
            budget.sleep(20)
        elif self.how == "break":
            message = "surprise"
            raise KeyError(message)
        elif self.how == "other source":
            yield Observation(Source.SYSLOG, stream="m.log", text=b"x\n")


@dataclass(slots=True)
class Through:
    """The service in this process; a test derives from it what is to be different."""

    inner: InProcessAttribution

    def open(self, job: Mapping[str, Any]) -> Handle:
        return self.inner.open(job)

    def submit(self, handle: Handle, observation: Observation) -> Any:
        return self.inner.submit(handle, observation)

    def verdict(self, handle: Handle, budget: Budget) -> Any:
        return self.inner.verdict(handle, budget)

    def delete(self, handle: Handle) -> None:
        self.inner.delete(handle)

    def history(self, cluster: str, nodes: Any) -> Mapping[str, int]:
        return self.inner.history(cluster, nodes)

    def check(self) -> None:
        self.inner.check()

    def close(self) -> None:
        self.inner.close()


@dataclass(slots=True)
class SlowVerdicts(Through):
    """The real service behind a wait, so that a test can act while sessions are open."""

    opened: threading.Event
    seconds: float = 0.3

    def open(self, job: Mapping[str, Any]) -> Handle:
        handle = self.inner.open(job)
        self.opened.set()
        return handle

    def submit(self, handle: Handle, observation: Observation) -> Any:
        time.sleep(self.seconds)
        return self.inner.submit(handle, observation)


def runs_in(path: Path) -> list[tuple[str, str]]:
    """(job, sub-domain) of every run that the database of `configuration_file` holds."""
    connection = sqlite3.connect(path)
    try:
        query = (
            "SELECT job_id, sub_domain FROM attribution_run JOIN execution_context AS c ON c.id = execution_context_id"
        )
        return sorted(connection.execute(query).fetchall())
    finally:
        connection.close()
