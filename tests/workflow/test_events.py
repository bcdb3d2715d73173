"""The sample events of the functions that only workflows invoke: each is taken, and none is missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from asl_kit import BUCKET, ROOT, Interpreter, interpreter
from attribution_service.enrichment import EnrichRequest, enrich
from attribution_service.model import OpenRequest
from attribution_service.service import EVERYTHING
from attribution_service.sessions import open_session
from run_kit import configuration_file, write_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = ROOT / "events"
OURS = {"discover", "collect", "write", "sweep"}
TASKS = {
    "discover_fleet": ("discover", "discover_fleet", "DiscoveryError"),
    "discover_job": ("discover", "discover_job", "DiscoveryError"),
    "accept_job": ("discover", "accept_job", ""),
    "collect": ("collect", "collect", ""),
    "write": ("write", "write", ""),
    "record": ("write", "record", ""),
    "summarise": ("write", "summarise", ""),
    "sweep_lost": ("sweep", "sweep_lost", ""),
    "execution_aborted": ("sweep", "detail", ""),
    "fleet_timed_out": ("sweep", "detail", ""),
}
"""{event: (function, task, error that is right where AWS Batch has no such queue and job)}."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreter]:
    """A deployment in which the run of the events is under way."""
    folder = tmp_path_factory.mktemp("site")
    file = configuration_file(folder, write_jobs(folder, 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ATTRIBUTION_CONFIG", f"s3://{BUCKET}/config/site.toml")
        patched.setenv("ATTRIBUTION_BUCKET", BUCKET)
        for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x"), ("DEFAULT_REGION", "us-east-1")):
            patched.setenv(f"AWS_{name}", value)
        with interpreter() as deployed:
            deployed.put("config/site.toml", file.read_bytes())
            service = deployed.host.service
            open_session(service, EVERYTHING, OpenRequest(job={"job_id": "481516", "cluster": "prod"}))
            enrich(service, EVERYTHING, EnrichRequest(attributor_id="prod:481516:0", run_id="run-20260602-221500"))
            yield deployed


def test_every_event_of_these_functions_is_known() -> None:
    files = [file for file in EVENTS.glob("*/*.json") if file.parent.name in OURS]
    assert {(file.parent.name, file.stem) for file in files} == {(TASKS[name][0], name) for name in TASKS}


@pytest.mark.parametrize("name", TASKS)
def test_an_event_is_taken(made: Interpreter, name: str) -> None:
    folder, task, right = TASKS[name]
    event: dict[str, Any] = json.loads((EVENTS / folder / f"{name}.json").read_text())
    assert task in event
    if name in ("collect", "summarise"):  # these two need what comes before them
        for before in ("accept_job", "record"):
            first = json.loads((EVENTS / TASKS[before][0] / f"{before}.json").read_text())
            assert made.invoke(TASKS[before][0], json.dumps(first).encode())[0] == ""
    if name == "summarise":
        event["summarise"]["state"]["error"] = {"Error": "DiscoveryError", "Cause": "no queue"}
    error, answer = made.invoke(folder, json.dumps(event).encode())
    assert bool(error) == bool(right), answer
    assert not right or json.loads(answer)["errorType"] == right
