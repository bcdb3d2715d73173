"""What asks AWS, on moto."""

from __future__ import annotations

import gzip
import json
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.awsbatch import AwsBatchAdapter, AwsBatchSettings
from attribution_blueprint.connectors.eca.sagemaker import SagemakerAdapter, SagemakerSettings
from attribution_blueprint.connectors.log.cloudwatch import CloudwatchLog, CloudwatchSettings
from attribution_blueprint.connectors.log.s3 import S3Log, S3LogSettings
from attribution_blueprint.connectors.output.dynamodb import DynamodbSettings, DynamodbSink
from attribution_blueprint.connectors.output.eventbridge import EventbridgeSettings, EventbridgeSink
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import CollectError, DiscoveryError, OutputError
from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.job.model import StateClass
from attribution_lib.rules.loader import load_engine
from attribution_service.model import VerdictKey
from attribution_service.result import EnrichedVerdict, enrich_attribution_result
from attribution_service.service import Service
from attribution_service.stores.aws import AwsNames, open_aws
from attribution_service.stores.aws_schema import VERDICT_INDEXES, table_definition
from dashboard.readers.store import StoreReader
from dashboard.reading import RunsQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.observation import Observation

REGION = "us-east-1"
START = 1_795_975_200_000  # 2026-11-29T18:00:00Z in ms


@pytest.fixture
def aws() -> Iterator[None]:
    with mock_aws():
        yield


def context(*places: EvidencePlace) -> ExecutionContext:
    job = {"job_id": "7", "nodes": ["n-1"], "margin_before": 0, "margin_after": 0}
    job |= {"start": "2026-11-29T18:00:00Z", "end": "2026-11-29T18:10:00Z"}
    return ExecutionContext.of(job, adapter="static", places=places)


def collected(collector: Any, of: ExecutionContext, reasons: list[str]) -> list[Observation]:
    found = []
    try:
        for observation in collector.collect(of, Budget.of(30)):
            found.append(observation)  # noqa: PERF402 -- what came before a failure counts
    except CollectError as error:
        reasons.append(str(error))
    return found


def put_events(group: str, stream: str, *events: tuple[int, str]) -> None:
    logs = boto3.client("logs", region_name=REGION)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    rows = [{"timestamp": stamp, "message": text} for stamp, text in events]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=rows)


@pytest.mark.usefixtures("aws")
def test_streams_that_the_adapter_names_are_read_in_the_window() -> None:
    boto3.client("logs", region_name=REGION).create_log_group(logGroupName="/aws/batch/job")
    events = ((START - 1, "before"), (START, "first"), (START + 5, "é second"), (START + 601_000, "after"))
    put_events("/aws/batch/job", "train/default/abc", *events)
    place = EvidencePlace(PlaceKind.CLOUDWATCH, "/aws/batch/job", "train/default/abc", node="n-1")
    reasons: list[str] = []
    (found,) = collected(CloudwatchLog("cloudwatch", CloudwatchSettings(region=REGION)), context(place), reasons)
    assert reasons == []
    assert found.entries.lines == ["first", "é second"]
    assert (found.entries.stamps[0], found.node) == (f"{START}000000", "n-1")


@pytest.mark.usefixtures("aws")
def test_many_events_are_read_page_by_page_in_bounded_batches() -> None:
    boto3.client("logs", region_name=REGION).create_log_group(logGroupName="g")
    for part in range(3):
        put_events("g", f"algo-1/{part}", *((START + part * 10_000 + at, f"{part} {at}") for at in range(5_000)))
    settings = CloudwatchSettings(region=REGION, streams="g:algo-1/*", batch_bytes=100_000)
    found = collected(CloudwatchLog("cloudwatch", settings), context(), [])
    lines = [line for one in found for line in one.entries.lines]
    assert len(set(lines)) == len(lines) == 15_000
    assert [one.first_line for one in found][:2] == [1, 1 + len(found[0].entries.lines)]


@pytest.mark.usefixtures("aws")
def test_a_group_that_is_not_there_is_a_reason_and_an_empty_one_is_none() -> None:
    boto3.client("logs", region_name=REGION).create_log_group(logGroupName="empty")
    reasons: list[str] = []
    settings = CloudwatchSettings(region=REGION, streams="nowhere:x,empty:*")
    assert collected(CloudwatchLog("cloudwatch", settings), context(), reasons) == []
    assert len(reasons) == 1
    assert "ResourceNotFoundException" in reasons[0]


@pytest.mark.usefixtures("aws")
def test_objects_of_a_prefix_are_read_packed_or_not() -> None:
    s3 = boto3.client("s3", region_name=REGION)
    s3.create_bucket(Bucket="job-logs")
    s3.put_object(Bucket="job-logs", Key="7/a.log", Body=b"plain \xff\n" * 3)
    s3.put_object(Bucket="job-logs", Key="7/b.log.gz", Body=gzip.compress(b"packed\n" * 4))
    s3.put_object(Bucket="job-logs", Key="7/c.log.gz", Body=gzip.compress(b"cut off\n" * 4000)[:-20])
    s3.put_object(Bucket="job-logs", Key="8/other.log", Body=b"not mine\n")
    reasons: list[str] = []
    of = ExecutionContext.of({"job_id": "7", "nodes": ["n-1"]}, adapter="static")
    settings = S3LogSettings(region=REGION, urls="s3://job-logs/{job_id}/,s3://job-logs/gone.log")
    found = collected(S3Log("s3", settings), of, reasons)
    texts = {one.stream: one.text for one in found}
    assert texts["s3://job-logs/7/a.log"] == b"plain \xff\n" * 3
    assert texts["s3://job-logs/7/b.log.gz"] == b"packed\n" * 4
    assert "s3://job-logs/8/other.log" not in texts
    assert "7/c.log.gz" in reasons[0]
    assert "gone.log" in reasons[0]


@pytest.fixture(scope="module")
def verdict() -> EnrichedVerdict:
    job = JobInfoBuilder.from_mapping({"job_id": "7", "cluster": "alps", "state": "FAILED"}).build()
    with Attributor(job, load_engine()) as attributor:
        raw = attributor.attribute()
    return enrich_attribution_result(
        raw,
        attributor_id="alps:7:0",
        run_id="01M8M9DSAHJZQWVBGR8G23MW3R",
        attributed_at="2026-11-29T18:35:08Z",
        connector_reports=[],
    )


@pytest.mark.usefixtures("aws")
def test_a_verdict_written_twice_is_one_item_of_the_table(verdict: EnrichedVerdict) -> None:
    database = boto3.client("dynamodb", region_name=REGION)
    keys = [("pk", "HASH"), ("sk", "RANGE")]
    database.create_table(
        TableName="verdicts",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    sink = DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="verdicts"))
    sink.write(verdict)
    sink.write(verdict)
    (item,) = [item for item in database.scan(TableName="verdicts")["Items"] if "body" in item]
    assert item["pk"]["S"] == "alps#7"
    assert json.loads(item["body"]["S"])["attributor_id"] == "alps:7:0"


@pytest.mark.usefixtures("aws")
def test_the_dashboard_reads_what_the_sink_wrote(verdict: EnrichedVerdict) -> None:
    boto3.client("dynamodb", region_name=REGION).create_table(**table_definition("verdicts", VERDICT_INDEXES))
    sink = DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="verdicts"))
    long = verdict.model_copy(update={"notes": ["as long as a verdict of 10,000 nodes may be " * 10_000]})
    sink.write(long)
    away = Service(open_aws(AwsNames("none", "none", "verdicts"), region=REGION), load_engine, lambda: 1_796_000_000)
    reader = StoreReader(away)
    assert list(reader.clusters()) == ["alps"]
    (head,) = reader.heads(RunsQuery(cluster="alps", since=1_795_900_000)).heads
    assert reader.verdict(VerdictKey(cluster=head.cluster, job_id=head.job_id)) == long


@pytest.mark.usefixtures("aws")
def test_a_verdict_too_large_even_packed_asks_for_a_bucket(verdict: EnrichedVerdict) -> None:
    boto3.client("dynamodb", region_name=REGION).create_table(**table_definition("verdicts", VERDICT_INDEXES))
    noise = random.Random(1).randbytes(400_000).hex()  # noqa: S311 -- what no packing makes smaller than half
    vast = verdict.model_copy(update={"notes": [noise]})
    with pytest.raises(OutputError, match="name a bucket"):
        DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="verdicts")).write(vast)
    boto3.client("s3", region_name=REGION).create_bucket(Bucket="vast")
    DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="verdicts", bucket="vast")).write(vast)
    away = Service(open_aws(AwsNames("vast", "none", "verdicts"), region=REGION), load_engine, lambda: 1_796_000_000)
    assert StoreReader(away).verdict(VerdictKey(cluster="alps", job_id="7")) == vast


@pytest.mark.usefixtures("aws")
def test_a_verdict_whose_job_has_no_id_to_store_it_under_is_refused(verdict: EnrichedVerdict) -> None:
    odd = verdict.model_copy(update={"job": {**verdict.job, "job_id": "a b"}})
    with pytest.raises(OutputError, match=r"job.job_id: 'a b' is no id"):
        DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="verdicts")).write(odd)


@pytest.mark.usefixtures("aws")
def test_a_table_that_is_not_there_is_told(verdict: EnrichedVerdict) -> None:
    with pytest.raises(OutputError, match="ResourceNotFoundException"):
        DynamodbSink("dynamodb", DynamodbSettings(region=REGION, table="nowhere")).write(verdict)


@pytest.mark.usefixtures("aws")
def test_a_verdict_is_an_event_of_the_bus(verdict: EnrichedVerdict) -> None:
    events = boto3.client("events", region_name=REGION)
    logs = boto3.client("logs", region_name=REGION)
    events.create_event_bus(Name="gpu")
    logs.create_log_group(logGroupName="/aws/events/seen")
    events.put_rule(Name="all", EventBusName="gpu", EventPattern='{"source": ["attribution"]}')
    arn = f"arn:aws:logs:{REGION}:123456789012:log-group:/aws/events/seen"
    events.put_targets(Rule="all", EventBusName="gpu", Targets=[{"Id": "1", "Arn": arn}])
    EventbridgeSink("eventbridge", EventbridgeSettings(region=REGION, bus="gpu")).write(verdict)
    (seen,) = logs.filter_log_events(logGroupName="/aws/events/seen")["events"]
    event = json.loads(seen["message"])
    assert (event["detail-type"], event["resources"]) == ("attribution.verdict.v2", ["alps:7:0"])
    assert event["detail"]["terminal_state"] == "fail"


@pytest.mark.usefixtures("aws")
def test_a_training_job_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    client = boto3.client("sagemaker", region_name=REGION)
    client.create_training_job(
        TrainingJobName="llm-7b",
        AlgorithmSpecification={"TrainingImage": "x", "TrainingInputMode": "File"},
        RoleArn="arn:aws:iam::123456789012:role/SageMaker",
        OutputDataConfig={"S3OutputPath": "s3://out/"},
        ResourceConfig={"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 10},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )
    (found,) = SagemakerAdapter("sagemaker", SagemakerSettings(region=REGION, ids="llm-7b")).discover(Budget.of(9))
    assert found.info.nodes == ("algo-1", "algo-2")
    assert [place.part for place in found.places] == ["llm-7b/algo-1-*", "llm-7b/algo-2-*"]
    with pytest.raises(DiscoveryError, match="nowhere"):
        SagemakerAdapter("sagemaker", SagemakerSettings(region=REGION, ids="nowhere")).discover(Budget.of(9))


def test_a_training_job_out_of_time_is_no_plain_stop() -> None:
    adapter = SagemakerAdapter("sagemaker", SagemakerSettings(region=REGION, ids="x"))
    job = {"TrainingJobName": "x", "TrainingJobStatus": "Stopped", "SecondaryStatus": "MaxRuntimeExceeded"}
    job |= {"TrainingEndTime": datetime(2026, 11, 29, tzinfo=UTC)}
    assert adapter._context(job).info.state_class is StateClass.TIMEOUT


def test_each_attempt_of_a_batch_job_is_a_context() -> None:
    """Attempts are none on moto; this is DescribeJobs in the form of its documentation."""
    adapter = AwsBatchAdapter("awsbatch", AwsBatchSettings(region=REGION, ids="a"))
    arn = "arn:aws:ecs:us-east-1:1:container-instance/default/0aa"
    first = {
        "container": {"exitCode": 137, "reason": "OutOfMemoryError: Container killed", "containerInstanceArn": arn}
    }
    second = {
        "container": {"exitCode": 1, "logStreamName": "t/default/b"},
        "statusReason": "Essential container exited",
    }
    job = {"jobId": "a", "jobName": "t", "status": "FAILED", "attempts": [first | {"startedAt": 1000}, second]}
    found = adapter._contexts(job)
    assert [(one.info.attempt, one.info.exit_code, one.info.nodes) for one in found] == [
        (0, "137", ("0aa",)),
        (1, "1", ()),
    ]
    assert found[1].places == (EvidencePlace(PlaceKind.CLOUDWATCH, "/aws/batch/job", "t/default/b"),)


@pytest.mark.usefixtures("aws")
def test_a_batch_job_that_is_not_there_is_nothing_and_a_queue_that_is_not_is_told() -> None:
    assert AwsBatchAdapter("b", AwsBatchSettings(region=REGION, ids="nope")).discover(Budget.of(9)) == []
    with pytest.raises(DiscoveryError, match="nowhere"):
        AwsBatchAdapter("b", AwsBatchSettings(region=REGION, since="1h", queues="nowhere")).discover(Budget.of(9))
