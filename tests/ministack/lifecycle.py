"""What a deployed API must do, asked over HTTP as a client would, and of its functions as a workflow would."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import boto3
from botocore.session import Session

from attribution_lib.observation import ObservationFormat, Source
from attribution_service.client import Anonymous, Client, RefusedError, SignedV4, Transport
from attribution_service.model import UploadRequest

__all__ = ["drive"]

JOB = {"job_id": "4711", "cluster": "prod", "nodes": "gpu-[0001-0004]", "start": "2026-06-02T20:00:00Z"}
NAME = "prod:4711:0"
XID = "kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=1234, name=python, GPU has fallen off the bus."


def drive(endpoint: str, stack: str, region: str) -> None:
    """Every step is asserted."""
    aws = _Aws(endpoint, region)
    client = aws.client(aws.api_id(stack))
    _refused_without_signature(aws, aws.api_id(stack))
    _session(client)
    _evidence(client)
    _verdict(client)
    _tasks(aws, stack)
    _end(client)


class _Aws:
    def __init__(self, endpoint: str, region: str) -> None:
        self.endpoint = endpoint
        self.region = region
        self._session = Session()
        self._session.set_credentials("test", "test")

    def boto(self, service: str) -> Any:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=self.region, **keys)

    def api_id(self, stack: str) -> str:
        apis = self.boto("apigateway").get_rest_apis()["items"]
        return str(next(api["id"] for api in apis if api["name"] == stack))

    def client(self, api_id: str, *, signed: bool = True) -> Client:
        port = self.endpoint.rpartition(":")[2]
        return Client(
            Transport(
                f"{self.endpoint}/dev",
                SignedV4(self.region, self._session) if signed else Anonymous(),
                headers={"Host": f"{api_id}.execute-api.localhost:{port}"},
            )
        )


def _refused_without_signature(aws: _Aws, api_id: str) -> None:
    try:
        aws.client(api_id, signed=False).health()
    except RefusedError as refused:
        assert refused.status == 403  # noqa: PT017 -- a script, not a test function
    else:
        raise AssertionError


def _session(client: Client) -> None:
    health = client.health()
    assert (health.status, health.rules > 0) == ("ok", True)
    assert client.open(JOB).attributor_id == NAME
    try:
        client.open(JOB)
    except RefusedError as refused:
        assert refused.slug == "duplicate-session"  # noqa: PT017 -- likewise
        assert refused.problem["attributor_id"] == NAME  # noqa: PT017 -- likewise
    assert [session.attributor_id for session in client.sessions(cluster="prod").sessions] == [NAME]


def _evidence(client: Client) -> None:
    batch = {"source": "syslog", "format": "text", "stream": "journal", "node": "gpu-0003", "entry_timeseries": [XID]}
    # Not compressed: the emulator does not read binary media types from an API's definition, and would spoil the body.
    body = json.dumps(batch).encode()
    first = client.observe(NAME, body)
    assert (first.duplicate, first.receipt.lines) == (False, 1)
    again = client.observe(NAME, body)
    assert (again.duplicate, again.receipt) == (True, first.receipt)

    log = "".join(f"step {number}\n" for number in range(5_000)).encode()
    sha256 = hashlib.sha256(log).hexdigest()
    request = UploadRequest(source=Source.APPLOG, format=ObservationFormat.TEXT, size=len(log), sha256=sha256)
    ticket = client.announce(NAME, request)
    client.put(ticket, log)
    named = {"source": "applog", "format": "text", "stream": "train.log", "object_key": ticket.object_key}
    assert client.observe(NAME, json.dumps(named).encode()).receipt.lines == 5_000


def _verdict(client: Client) -> None:
    first = client.attribute(NAME)
    assert first.verdict is not None
    assert [bad.node for bad in first.verdict.bad_nodes] == ["gpu-0003"]
    assert client.attribute(NAME, etag=first.etag).verdict is None
    client.update_job(NAME, {"state": "NODE_FAIL", "end": "2026-06-02T22:11:30Z"})
    second = client.attribute(NAME, etag=first.etag)
    assert second.verdict is not None
    assert (second.etag != first.etag, second.verdict.job["state"]) == (True, "NODE_FAIL")


def _tasks(aws: _Aws, stack: str) -> None:
    functions = aws.boto("lambda")

    def invoke(function: str, event: dict[str, Any]) -> Any:
        answer = functions.invoke(FunctionName=f"{stack}-{function}", Payload=json.dumps(event))
        assert "FunctionError" not in answer, answer["Payload"].read()
        return json.loads(answer["Payload"].read())

    enriched = invoke("enrich", {"enrich": {"attributor_id": NAME, "run_id": "run-1"}})
    assert enriched["sub_domain"] == "hardware"
    outputs = aws.boto("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
    bucket = next(output["OutputValue"] for output in outputs if output["OutputKey"] == "BucketName")
    stored = aws.boto("s3").get_object(Bucket=bucket, Key=enriched["verdict_key"])["Body"].read()
    assert json.loads(stored)["run_id"] == "run-1"
    invoke("attribute", {"attribute_later": NAME})
    assert invoke("open-attributor", {"count_abandoned": {"hours": 1}}) == {"abandoned": 0}


def _end(client: Client) -> None:
    assert client.verdicts(cluster="prod").verdicts == []
    client.delete(NAME)
    try:
        client.attribute(NAME)
    except RefusedError as refused:
        assert (refused.status, refused.slug) == (404, "not-found")  # noqa: PT017 -- a script, not a test function
    else:
        raise AssertionError
