"""What 1,000 jobs cost on AWS: requests counted on an emulated account, times list prices; ``--check FILE`` compares.

One job = a session with BATCHES observations, late facts, one verdict, enriched and stored, and the session deleted.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from moto import mock_aws

from attribution_lib.rules.loader import load_engine
from attribution_service.attribute import attribute
from attribution_service.enrichment import EnrichRequest, enriched_verdict
from attribution_service.ingest import ingest
from attribution_service.model import OpenRequest
from attribution_service.service import EVERYTHING, Service
from attribution_service.sessions import delete_session, open_session, update_job
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from attribution_service.verdicts import write_verdict

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES = 40
NAME = "prod:1:0"
BEGIN, END = "<!-- cost: begin -->", "<!-- cost: end -->"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million, and the operations that count as one."""

    label: str
    dollars: float
    operations: frozenset[str]


PRICES = (
    Price("S3 writes and lists", 5.0, frozenset({"PutObject", "ListObjectsV2"})),
    Price("S3 reads", 0.4, frozenset({"GetObject", "HeadObject"})),
    Price("DynamoDB writes", 0.625, frozenset({"PutItem", "UpdateItem", "DeleteItem"})),
    Price("DynamoDB reads", 0.125, frozenset({"GetItem", "Query"})),
)
"""List prices of us-east-1, on demand. Deletes in S3 are free; an item here is below 1 KB, a read below 4 KB."""
GATEWAY = 3.5
LAMBDA_REQUEST = 0.2
LAMBDA_GB_SECOND = 16.6667
SECONDS = {
    "open": (0.1, 1.0),
    "observation": (0.15, 1.73),
    "facts": (0.1, 1.0),
    "verdict": (1.0, 3.46),
    "delete": (0.2, 1.0),
}
"""{call: (seconds, GB)}: assumed, with cold starts spread over many calls."""


def main() -> int:
    """Print the table, or compare it with what stands between the marks of a page."""
    table = render(measure())
    if sys.argv[1:2] == ["--check"]:
        page = Path(sys.argv[2]).read_text(encoding="utf-8")
        if f"{BEGIN}\n{table}{END}" not in page:
            print(f"{sys.argv[2]}: the table of costs is out of date; put this there:\n{table}", file=sys.stderr)
            return 1
        return 0
    print(table, end="")
    return 0


def measure() -> dict[str, Counter[str]]:
    """{call: requests} of one job; ``observation`` of one of its batches."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    with mock_aws():
        calls: Counter[str] = Counter()
        service = _service(calls)
        counted: dict[str, Counter[str]] = {}

        def step(name: str, work: Callable[[], Any]) -> None:
            calls.clear()
            work()
            counted[name] = Counter(calls)

        job = {"job_id": "1", "cluster": "prod", "nodes": "gpu-[0001-0016]"}
        # the first job of a cluster notes the cluster, once
        open_session(service, EVERYTHING, OpenRequest(job={**job, "job_id": "0"}))
        step("open", lambda: open_session(service, EVERYTHING, OpenRequest(job=job)))
        for number in range(BATCHES):
            step("observation", lambda number=number: ingest(service, EVERYTHING, NAME, _batch(number)))
        step("facts", lambda: update_job(service, EVERYTHING, NAME, {"state": "FAILED"}))
        step("verdict", lambda: _verdict(service))
        step("delete", lambda: delete_session(service, EVERYTHING, NAME))
    return counted


def _verdict(service: Service) -> None:
    attribute(service, EVERYTHING, NAME)
    request = EnrichRequest(attributor_id=NAME, run_id="run")
    write_verdict(service, EVERYTHING, enriched_verdict(service, EVERYTHING, request))


def _batch(number: int) -> bytes:
    line = f"[rank{number}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    return json.dumps(
        {"source": "applog", "format": "text", "stream": str(number), "entry_timeseries": [line]}
    ).encode()


def _service(calls: Counter[str]) -> Service:
    s3, dynamodb = aws_clients(region="us-east-1")
    for client in (s3, dynamodb):
        client.meta.events.register("before-call", lambda model, **_: calls.update([model.name]))
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
    plain = boto3.client("dynamodb", region_name="us-east-1")
    plain.create_table(**table_definition("sessions", SESSION_INDEXES))
    plain.create_table(**table_definition("verdicts", VERDICT_INDEXES))
    engine = load_engine()
    store = aws_store(AwsNames("bucket", "sessions", "verdicts"), s3, dynamodb)
    return Service(store, lambda: engine, lambda: 1_780_438_449.0)


def render(counted: dict[str, Counter[str]]) -> str:
    """The table in Markdown."""
    heads = ["call", "times a job", *(price.label for price in PRICES), "$ for 1,000 jobs"]
    rows, total = [heads, ["---"] * len(heads)], 0.0
    for name, calls in counted.items():
        times = BATCHES if name == "observation" else 1
        numbers = [sum(calls[operation] for operation in price.operations) for price in PRICES]
        seconds, memory = SECONDS[name]
        millionths = sum(number * price.dollars for number, price in zip(numbers, PRICES, strict=True))
        millionths += GATEWAY + LAMBDA_REQUEST + seconds * memory * LAMBDA_GB_SECOND
        dollars = millionths * times / 1_000
        total += dollars
        rows.append([name, str(times), *map(str, numbers), f"{dollars:.2f}"])
    rows.append(["**sum**", *[""] * (len(heads) - 2), f"**{total:.2f}**"])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
