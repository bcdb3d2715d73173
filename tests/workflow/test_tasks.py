"""The tasks of one context, called one after the other as the state machines do, over the local store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from attribution_blueprint.errors import DiscoveryError
from attribution_blueprint.local_service import local_service
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.workflow.host import WorkflowHost
from attribution_blueprint.workflow.tasks import (
    AttributeTask,
    CleanupTask,
    CollectTask,
    EndState,
    EnrichRequest,
    FleetRequest,
    GatherTask,
    IngestTask,
    JobRequest,
    OpenStatus,
    OpenTask,
    RecordTask,
    SummariseTask,
    TallyTask,
    WriteTask,
    accept_job,
    attribute_task,
    cleanup_task,
    collect,
    discover_fleet,
    discover_job,
    enrich,
    gather_task,
    ingest_task,
    open_task,
    record,
    summarise,
    tally_task,
    write,
)
from attribution_service.run_records import RowStatus
from attribution_service.service import EVERYTHING
from attribution_service.settings import Settings
from attribution_service.stores.local import open_local
from run_kit import configuration_file, write_jobs
from service_kit import fast_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def host(tmp_path: Path) -> Iterator[WorkflowHost]:
    configuration = read_configuration(configuration_file(tmp_path, write_jobs(tmp_path, 3)), {})
    back_end = open_local(fast_folder())
    service = local_service(back_end, Settings())
    yield WorkflowHost(service, lambda: configuration)
    back_end.close()


def worked(host: WorkflowHost, accepted: Any, opener: str) -> EndState:
    """All of one context."""
    service, names = host.service, {"run_id": accepted.run_id, "context": accepted.context}
    state: dict[str, Any] = {**names, "started_at": accepted.started_at}
    opened = open_task(service, OpenTask(job_ref=accepted.job_ref, opened_by=opener, again=accepted.again))
    state["opened"] = opened
    if opened.status is not OpenStatus.OPENED:
        return EndState(**state)
    reports = [
        collect(host, CollectTask(**names, job_ref=accepted.job_ref, instance=one.instance))
        for one in accepted.collectors
    ]
    chunked = gather_task(service, GatherTask(**names, collectors=accepted.collectors))
    for chunk in chunked.chunks:
        ingest_task(service, IngestTask(**names, attributor_id=opened.attributor_id, chunk=chunk))
    tally = tally_task(service, TallyTask(**names, collectors=accepted.collectors))
    attribute_task(service, AttributeTask(attributor_id=opened.attributor_id))
    request = EnrichRequest(
        attributor_id=opened.attributor_id,
        run_id=accepted.run_id,
        connector_reports=reports,
        ingestion_reports=tally,
    )
    state["enriched"] = enrich(service, EVERYTHING, request)
    state["written"] = write(host, WriteTask(verdict_key=state["enriched"].verdict_key))
    cleanup_task(service, CleanupTask(**names, opened_by=opener))
    return EndState(**state)


def test_a_fleet_is_discovered_attributed_written_and_counted(host: WorkflowHost) -> None:
    manifest = discover_fleet(host, FleetRequest(adapter="static"), "run-1")
    assert manifest.count == 3
    for number in range(3):
        job = JobRequest(job_ref=f"s3://local/runs/run-1/contexts/c:{1000 + number}:0.json", run_id="run-1")
        accepted = accept_job(host, job, "execution")
        row = record(host, RecordTask(name="execution", state=worked(host, accepted, f"opener-{number}")))
        assert row.status is RowStatus.ATTRIBUTED
        assert row.written == ["verdicts", "db"]
        assert (row.job_id, row.observations, row.lines) == (str(1000 + number), 1, 2)
    totals = summarise(host, SummariseTask(run_id="run-1"))
    assert (totals.attributed, totals.conflicted, totals.failed, totals.succeeded) == (3, 0, 0, 3)
    assert [info.key for info in host.service.store.objects.list("collected/")] == []
    assert [info.key for info in host.service.store.objects.list("attributors/")] == []


def test_a_job_by_its_id_finds_the_verdict_of_an_earlier_run_unless_asked_again(host: WorkflowHost) -> None:
    request = JobRequest(job_id="1001", adapter="static")
    first = worked(host, discover_job(host, request, "one"), "one")
    second = worked(host, discover_job(host, request, "two"), "two")
    assert second.opened is not None
    assert (second.opened.status, second.opened.run_id) == (OpenStatus.FOUND, "one")
    assert first.enriched is not None
    third = worked(host, discover_job(host, request.model_copy(update={"again": True}), "three"), "three")
    assert third.enriched is not None
    assert third.enriched.run_id == "three"


def test_a_session_of_somebody_else_is_a_conflict_and_stays(host: WorkflowHost) -> None:
    accepted = discover_job(host, JobRequest(job_id="1000", adapter="static"), "mine")
    theirs = open_task(host.service, OpenTask(job_ref=accepted.job_ref, opened_by="theirs"))
    state = worked(host, accepted, "mine")
    row = record(host, RecordTask(name="mine", state=state))
    assert (row.status, row.attributor_id) == (RowStatus.CONFLICTED, theirs.attributor_id)
    cleaned = cleanup_task(host.service, CleanupTask(run_id="mine", context=accepted.context, opened_by="mine"))
    assert not cleaned.session
    assert cleanup_task(host.service, CleanupTask(run_id="r", context=accepted.context, opened_by="theirs")).session


def test_an_adapter_that_is_not_configured_is_refused_by_name(host: WorkflowHost) -> None:
    with pytest.raises(DiscoveryError, match="'nowhere': no such eca is configured; accepted: static"):
        discover_job(host, JobRequest(job_id="1", adapter="nowhere"), "x")
    with pytest.raises(DiscoveryError, match="knows no job 77"):
        discover_job(host, JobRequest(job_id="77", adapter="static", attempt=4), "x")


def test_a_found_verdict_of_an_id_with_colons_is_found_again(host: WorkflowHost) -> None:
    """Children of an array of AWS Batch are named id:index."""
    request = JobRequest(job={"job_id": "array:3", "cluster": "c", "state": "FAILED", "nodes": ["n1"]})
    first = worked(host, accept_job(host, request, "one"), "one")
    assert record(host, RecordTask(name="one", state=first)).verdict_run == "one"
    second = worked(host, accept_job(host, request, "two"), "two")
    row = record(host, RecordTask(name="two", state=second))
    assert (row.status, row.verdict_run, row.job_id, row.written) == (
        RowStatus.ATTRIBUTED,
        "one",
        "array:3",
        ["verdicts"],
    )


@pytest.mark.parametrize(("configured", "query"), [('since = "2h"', {"ids": ["j"]}), ('ids = ["j"]', {"since": "2h"})])
def test_a_query_for_ids_or_a_stretch_of_time_replaces_the_other_that_is_configured(
    host: WorkflowHost, tmp_path: Path, configured: str, query: dict[str, Any]
) -> None:
    file = tmp_path / "aws.toml"
    file.write_text(f'[eca.sagemaker]\nregion = "us-east-1"\n{configured}\n')
    site = replace(host, configuration=lambda: read_configuration(file, {}))
    with mock_aws():
        sagemaker = boto3.client("sagemaker", region_name="us-east-1")
        sagemaker.create_training_job(
            TrainingJobName="j",
            RoleArn="arn:aws:iam::123456789012:role/any",
            AlgorithmSpecification={"TrainingInputMode": "File", "TrainingImage": "any"},
            OutputDataConfig={"S3OutputPath": "s3://any"},
            ResourceConfig={"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1},
            StoppingCondition={"MaxRuntimeInSeconds": 60},
        )
        manifest = discover_fleet(site, FleetRequest(adapter="sagemaker", query=query), "run-1")
    assert manifest.count == ("ids" in query)
