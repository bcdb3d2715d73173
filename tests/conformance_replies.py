"""What the servers of the conformance suite reply: one good reply a connector, and replies of several pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_lib.verdict import SCHEMA_VERSION
from replay_kit import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from replay_kit import Asked

START = 1_795_975_200
"""2026-11-29T18:00:00Z."""
AWS_EXPIRED = Answer(b'{"__type": "ExpiredTokenException", "message": "The security token has expired"}', 403)
AWS: dict[str, Any] = {"expired": AWS_EXPIRED, "refused": "xpired"}
EVENT = {"timestamp": START * 1000, "message": "hello"}
SERIES = {"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": "n-1"}, "values": [[START, "71"]]}
BATCH_JOB = {"jobId": "a", "jobName": "t", "status": "FAILED", "attempts": [{"container": {"exitCode": 1}}]}
TRAINING = {"TrainingJobName": "x", "TrainingJobStatus": "Failed", "TrainingEndTime": START + 60}
STORED = {
    "pk": {"S": "alps#7"},
    "sk": {"S": "000000#01M8M9DSAHJZQWVBGR8G23MW3R"},
    "run_id": {"S": "01M8M9DSAHJZQWVBGR8G23MW3R"},
    "at": {"N": "1795977308"},
    "cluster_day": {"S": "alps#2026-11-29"},
}
"""What a table holds of the verdict once it is written: the sink looks at it again."""
XML = "http://s3.amazonaws.com/doc/2006-03-01/"


def json_of(document: Any) -> bytes:
    return json.dumps(document).encode()


def streams(*lines: int) -> bytes:
    values = [[str(START * 10**9 + at), f"line {at}"] for at in lines]
    result = [{"stream": {"host": "n-1"}, "values": values}] if values else []
    return json_of({"status": "success", "data": {"resultType": "streams", "result": result}})


def loki_pages(asked: Asked) -> bytes:
    start, limit = int(asked.query["start"]) - START * 10**9, int(asked.query["limit"])
    return streams(*[at for at in (0, 1, 2) if at >= start][:limit])


def matrix(*series: Any) -> bytes:
    return json_of({"status": "success", "data": {"resultType": "matrix", "result": series}})


def promql_pages(asked: Asked) -> bytes:
    values = [[at, "71"] for at in (START, START + 300, START + 600)]
    fitting = [row for row in values if int(asked.query["start"]) <= row[0] <= int(asked.query["end"])]
    return matrix({**SERIES, "values": fitting}) if fitting else matrix()


def page_by_token(key: str, bodies: list[Any], name: str = "nextToken") -> Callable[[Asked], bytes]:
    """One thing a page; the token counts them."""

    def pages(asked: Asked) -> bytes:
        at = int(asked.body.get(name) or 0)
        following = {name: str(at + 1)} if at + 1 < len(bodies) else {}
        return json_of({key: [bodies[at]], **following})

    return pages


def s3_pages(asked: Asked) -> bytes:
    if not asked.query.get("list-type"):
        return b"line of " + asked.path.encode() + b"\n"
    at = int(asked.query.get("continuation-token") or 0)
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{at + 1}</NextContinuationToken>" if at < 2 else ""
    stamp = "2026-11-29T18:05:00.000Z"
    item = f"<Contents><Key>7/{at}.log</Key><LastModified>{stamp}</LastModified><Size>9</Size></Contents>"
    return f'<?xml version="1.0"?><ListBucketResult xmlns="{XML}">{item}{more}</ListBucketResult>'.encode()


def batch_pages(asked: Asked) -> bytes:
    if asked.path.endswith("/describejobs"):
        return json_of({"jobs": [{**BATCH_JOB, "jobId": name} for name in asked.body["jobs"]]})
    summaries = [{"jobId": f"j{at}", "stoppedAt": (START + 60) * 1000} for at in range(3)]
    return page_by_token("jobSummaryList", summaries)(asked)


def training_pages(asked: Asked) -> bytes:
    if asked.headers["x-amz-target"].endswith("DescribeTrainingJob"):
        return json_of({**TRAINING, "TrainingJobName": asked.body["TrainingJobName"]})
    rows = [{**TRAINING, "TrainingJobName": f"t{at}"} for at in range(3)]
    return page_by_token("TrainingJobSummaries", rows, "NextToken")(asked)


SLURM_JOB = {
    "job_id": 4711,
    "cluster": "alps",
    "nodes": "gpu1",
    "state": {"current": ["FAILED"], "reason": "None"},
    "time": {"submission": START, "start": START, "end": START + 60},
    "stdout": "/w/4711.out",
    "stderr": "",
}
HEALTH = {
    "status": "ok",
    "version": "1",
    "verdict_schema": SCHEMA_VERSION,
    "accepted_observation_schemas": ["2"],
    "spill_schema": 1,
    "rules_digest": "d",
    "rules": 1,
}
