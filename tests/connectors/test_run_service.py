"""The service that a run talks to, in process or over HTTP: the same verdicts, and refused when it cannot be used."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.errors import AttributionFailedError, AttributorConflictError, SubmissionError
from attribution_lib.observation import Observation
from attribution_lib.observation import Source as Kind
from attribution_service.client import RefusedError
from attribution_service.service import EVERYTHING
from attribution_service.verdicts import write_verdict
from http_kit import running
from run_kit import JOB, configuration_file, http_service_of, orchestrate, write_jobs
from scripted_server import Answer, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
    from attribution_service.result import EnrichedVerdict


def comparable(verdict: EnrichedVerdict | None) -> dict[str, Any]:
    """A verdict without the run, its time, and the ids that observations get of how they were sent."""
    assert verdict is not None
    assert verdict.root_cause is not None
    ways = {"root_cause": {"observation_id"}, "based_on": {"digest"}}
    return verdict.model_dump(mode="json", exclude={"run_id": True, "attributed_at": True, **ways})


def test_over_http_the_same_verdicts(local: InProcessAttribution, tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 2))
    here = orchestrate(file, local)
    with running(tmp_path / "remote") as api, http_service_of(f"http://127.0.0.1:{api.port}") as service:
        service.check()
        there = orchestrate(file, service)
        assert api("GET", "/v2/attributor").json["sessions"] == []
        large = Observation(Kind.APPLOG, stream="big.log", text=os.urandom(4_000_000).hex().encode() + b"\n")
        handle = service.open({**JOB, "job_id": "large"})
        assert [service.submit(handle, large) for _ in range(2)] == ["new", "duplicate"]
        with pytest.raises(AttributorConflictError) as refused:
            service.open({**JOB, "job_id": "large"})
        assert refused.value.attributor_id == "c:large:0"
        assert isinstance(refused.value.__cause__, RefusedError)
        assert refused.value.__cause__.status == 409
        service.delete(handle)
        service.delete(handle)
    assert [comparable(one.verdict) for one in there.last_run_results] == [
        comparable(one.verdict) for one in here.last_run_results
    ]
    assert there.last_run_stats["succeeded"] == 2


def test_over_http_a_node_that_was_blamed_before_has_a_history(tmp_path: Path) -> None:
    cases = write_jobs(tmp_path, 1)
    (cases / "job-0000" / "applog.log").write_text("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")
    file = configuration_file(tmp_path, cases)
    with running(tmp_path / "server") as api, http_service_of(f"http://127.0.0.1:{api.port}") as service:
        assert api.host is not None
        first = orchestrate(file, service)
        verdict = first.last_run_results[0].verdict
        assert verdict is not None
        assert verdict.history == {"n1": 0}
        write_verdict(api.host.service, EVERYTHING, verdict)
        again = orchestrate(file, service).last_run_results[0].verdict
    assert again is not None
    assert again.history == {"n1": 1}


def test_another_content_under_the_same_id_is_a_conflict(local: InProcessAttribution) -> None:
    handle = local.open(JOB)
    first = Observation(Kind.APPLOG, observation_id="x", stream="a", text=b"one\n")
    assert [local.submit(handle, first) for _ in range(2)] == ["new", "duplicate"]
    with pytest.raises(SubmissionError) as refused:
        local.submit(handle, Observation(Kind.APPLOG, observation_id="x", stream="a", text=b"two\n"))
    assert refused.value.conflict


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(503, b"{}"), "503"),
        (Answer(200, b"<html>"), "unusable"),
        (Answer(200, b'{"status": "ok"}', cut=4), "health"),
        (Answer(401, b"{}"), "401"),
    ],
)
def test_a_service_that_cannot_be_used_is_found_out_before_the_run(answer: Answer, expected: str) -> None:
    with (
        scripted(answer) as server,
        http_service_of(server.url, tries=1, request_seconds=2.0) as service,
        pytest.raises(AttributionFailedError, match=expected),
    ):
        service.check()


def test_a_service_of_another_schema_is_refused() -> None:
    health = {
        "status": "ok",
        "version": "9",
        "verdict_schema": "3",
        "accepted_observation_schemas": ["3"],
        "spill_schema": 1,
        "rules_digest": "",
        "rules": 0,
    }
    with (
        scripted(Answer(200, json.dumps(health).encode())) as server,
        http_service_of(server.url) as service,
        pytest.raises(AttributionFailedError, match="expected 2 and 2"),
    ):
        service.check()
