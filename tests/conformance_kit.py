"""Every connector of every framework as the conformance suite sees it: how it is made, asked, and what a good reply is.

A connector that asks over HTTP (AWS' too, by ``endpoint_url``) is given the address of a server that misbehaves; one
that runs a command is given a program that does. What cannot happen to a connector is said here, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.attribution.base import AttributionSettings
from attribution_blueprint.connectors.attribution.http import HttpAttribution
from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.frameworks import FRAMEWORKS, component_class
from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.rules.loader import load_engine
from attribution_service.result import enrich_attribution_result
from conformance_replies import (
    AWS,
    BATCH_JOB,
    EVENT,
    HEALTH,
    SERIES,
    SLURM_JOB,
    START,
    STORED,
    TRAINING,
    batch_pages,
    json_of,
    loki_pages,
    matrix,
    page_by_token,
    promql_pages,
    s3_pages,
    streams,
    training_pages,
)
from kueue_kit import condition, workload
from replay_kit import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from attribution_service.result import EnrichedVerdict
    from replay_kit import Asked

__all__ = ["COMMANDS", "LOCAL", "SERVED", "Commanded", "Outcome", "Served", "context", "exercise", "make", "verdict"]


@dataclass(frozen=True)
class Outcome:
    """What came of asking a connector once."""

    found: list[Any]
    reason: str | None
    """What its error says; None without one."""


def context(*places: EvidencePlace) -> ExecutionContext:
    job = {"job_id": "7", "nodes": ["n-1", "n-2"], "margin_before": 0, "margin_after": 0}
    job |= {"start": "2026-11-29T18:00:00Z", "end": "2026-11-29T18:10:00Z"}
    return ExecutionContext.of(job, adapter="static", places=places)


@cache
def verdict() -> EnrichedVerdict:
    job = JobInfoBuilder.from_mapping({"job_id": "7", "cluster": "alps", "state": "FAILED"}).build()
    with Attributor(job, load_engine()) as attributor:
        raw = attributor.attribute()
    names = {"attributor_id": "alps:7:0", "run_id": "01M8M9DSAHJZQWVBGR8G23MW3R"}
    return enrich_attribution_result(raw, attributed_at="2026-11-29T18:35:08Z", connector_reports=[], **names)


def make(framework: str, name: str, settings: Mapping[str, Any]) -> Any:
    """A connector of the table, as a configuration would make it; or the service over HTTP."""
    if framework == "attribution":
        return HttpAttribution(AttributionSettings(**settings))
    component = FRAMEWORKS[framework].component(name)
    assert component is not None, name
    found = component_class(component)
    return found(name, found.Settings(**settings))


def exercise(framework: str, connector: Any, seconds: float, *places: EvidencePlace) -> Outcome:
    """Ask it once, as a run does; an error that is none of ours passes, and fails the test."""
    found: list[Any] = []
    try:
        if framework == "attribution":
            connector.check()
        elif framework == "output":
            connector.write(verdict())
        elif framework == "eca":
            found += connector.discover(Budget.of(seconds))
        else:
            for observation in connector.collect(context(*places), Budget.of(seconds)):
                found.append(observation)
    except BlueprintError as error:
        return Outcome(found, str(error))
    return Outcome(found, None)


@dataclass(frozen=True)
class Served:
    """A connector that asks over HTTP."""

    framework: str
    name: str
    settings: Mapping[str, Any]
    good: bytes
    """A good reply."""
    address: str = "{url}"
    """What its errors have to name."""
    expired: Answer = field(default_factory=lambda: Answer(b'{"title": "token expired"}', 401))
    refused: str = "401"
    window: Callable[[Mapping[str, str]], bool] | None = None
    """Whether a request asks for the job's time only."""
    pages: Callable[[Asked], bytes] | None = None
    """Replies of several pages, of three things in all."""
    unaware: Mapping[str, str] = field(default_factory=dict)
    """Faults that it cannot know of, and why."""
    places: tuple[EvidencePlace, ...] = ()
    requests: int = 1
    """How often it asks to get or write one thing."""

    def made(self, url: str, **more: Any) -> Any:
        """The connector, asking this server."""
        where = {"attribution": "service_url"}.get(self.framework, "endpoint_url" if self.aws else "url")
        quick = {"request_seconds": 1, "tries": 2}
        return make(self.framework, self.name, {where: url, **quick, **self.settings, **more})

    @property
    def aws(self) -> bool:
        return "region" in self.settings


SERVED = (
    Served(
        "log",
        "loki",
        {"query": '{host=~"{nodes}"}', "limit": 2},
        streams(0),
        window=lambda query: (int(query["start"]) // 10**9, int(query["end"]) // 10**9) == (START, START + 600),
        pages=loki_pages,
    ),
    Served(
        "metric",
        "promql",
        {"metrics": "DCGM_FI_DEV_GPU_TEMP", "node_labels": "Hostname"},
        matrix(SERIES),
        window=lambda query: (int(query["start"]), int(query["end"])) == (START, START + 600),
        pages=promql_pages,
    ),
    Served(
        "log",
        "cloudwatch",
        {"region": "us-east-1", "streams": "group:stream"},
        json_of({"events": [EVENT]}),
        "group:stream",
        window=lambda query: (query["startTime"], query["endTime"]) == (START * 1000, (START + 600) * 1000 + 1),
        pages=page_by_token("events", [{**EVENT, "message": str(at)} for at in range(3)]),
        **AWS,
    ),
    Served(
        "log",
        "s3",
        {"region": "us-east-1", "urls": "s3://bucket/7/log.txt"},
        b"hello\n",
        "s3://bucket/7/log.txt",
        pages=s3_pages,
        unaware={"wrong": "any bytes are a log"},
        **{**AWS, "expired": Answer(b"<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>", 400)},
    ),
    Served(
        "eca",
        "slurmrestd",
        {"since": "2026-11-29T17:00:00Z", "token": "a.e30.c", "until": "2026-11-29T19:00:00Z"},
        json_of({"jobs": [SLURM_JOB], "errors": []}),
        window=lambda query: (int(query["start_time"]), int(query["end_time"])) == (START - 3600, START + 3600),
    ),
    Served(
        "eca",
        "awsbatch",
        {"region": "us-east-1", "ids": "a"},
        json_of({"jobs": [BATCH_JOB]}),
        "eca awsbatch",
        pages=batch_pages,
        **AWS,
    ),
    Served(
        "eca", "sagemaker", {"region": "us-east-1", "ids": "x"}, json_of(TRAINING), "eca sagemaker",
        pages=training_pages, **AWS,
    ),
    Served(
        "output", "webhook", {"allow_http": True, "allow_private": True}, b"", unaware={"wrong": "any 2xx is taken"},
    ),
    Served(
        "output", "dynamodb", {"region": "us-east-1", "table": "verdicts"}, json_of({"Items": [STORED], "Count": 1}),
        "output dynamodb: table", requests=5, **AWS,
    ),
    Served(
        "output", "eventbridge", {"region": "us-east-1"},
        json_of({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}), "output eventbridge: bus", **AWS,
    ),
    Served("attribution", "http", {}, json_of(HEALTH)),
)  # fmt: skip


@dataclass(frozen=True)
class Commanded:
    """A connector that runs a program."""

    framework: str
    name: str
    settings: Mapping[str, Any]
    program: str
    """The setting that names it."""
    good: bytes
    refusals: Mapping[str, str]
    """What the program says on standard error, by fault."""
    unaware: Mapping[str, str] = field(default_factory=dict)
    places: tuple[EvidencePlace, ...] = ()

    def made(self, folder: Path, script: str) -> Any:
        """The connector, running this shell script."""
        path = folder / self.name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return make(self.framework, self.name, {self.program: str(path), **self.settings})


KUBE = {
    "expired": "error: You must be logged in to the server (Unauthorized)",
    "name": "Unable to connect to the server: dial tcp: lookup api.invalid: no such host",
    "busy": "Error from server (TooManyRequests): the server has received too many requests",
}
SACCT = {
    "expired": "sacct: error: Invalid authentication credential",
    "name": "sacct: error: slurmdbd: getaddrinfo(dbd.invalid:6819): Name or service not known",
    "busy": "sacct: error: slurm_persist_conn_open: failed to send persistent connection init message",
}
FINISHED = workload("llm", "X", condition("Finished", "Failed"))
POD = EvidencePlace(PlaceKind.POD, "team-a/llm-0", "train", node="n-1")
COMMANDS = (
    Commanded(
        "eca", "slurm", {"since": "1h", "format": "json"}, "prefix", json_of({"jobs": [SLURM_JOB], "errors": []}), SACCT
    ),
    Commanded(
        "eca",
        "kueue",
        {"since": "1h"},
        "kubectl",
        json_of({"preferredVersion": {"version": "v1"}, "items": [FINISHED]}),
        KUBE,
    ),
    Commanded(
        "log",
        "kubectl",
        {},
        "kubectl",
        b"2026-11-29T18:05:00Z hello\n",
        KUBE,
        unaware={
            "half": "a log may end anywhere; kubectl fails when the connection does",
            "wrong": "any text is a log",
        },
        places=(POD,),
    ),
)
LOCAL = frozenset({("eca", "static"), ("log", "file"), ("metric", "file"), ("output", "stdout"), ("output", "sqlite")})
"""Those that ask nobody: their faults are those of files (test_log_file.py, test_outputs.py, test_disks.py)."""
