"""The AWS back end: one bucket, two tables. Make it once per process; clients are shared by threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from attribution_service.ports import Store
from attribution_service.stores.aws_objects import S3Objects
from attribution_service.stores.aws_table import DynamoTable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AwsNames", "aws_clients", "aws_store", "open_aws"]


@dataclass(frozen=True, slots=True)
class AwsNames:
    """What the template calls things."""

    bucket: str
    sessions_table: str
    verdicts_table: str


def open_aws(names: AwsNames, *, region: str | None = None) -> Store:
    """The store of a deployment, with the process's own credentials and endpoints."""
    return aws_store(names, *aws_clients(region=region))


def aws_store(names: AwsNames, s3: Any, dynamodb: Any, *, sleep: Callable[[float], None] | None = None) -> Store:
    """The store over given low-level clients."""
    objects = S3Objects(s3, names.bucket) if sleep is None else S3Objects(s3, names.bucket, sleep=sleep)
    return Store(objects, DynamoTable(dynamodb, names.sessions_table), DynamoTable(dynamodb, names.verdicts_table))


def aws_clients(
    *, region: str | None = None, s3_endpoint: str | None = None, dynamodb_endpoint: str | None = None
) -> tuple[Any, Any]:
    """(S3, DynamoDB) clients. Signature version 4 also for other endpoints; checksums only where they are asked for."""
    shared = {"retries": {"mode": "standard", "max_attempts": 5}, "max_pool_connections": 32, "connect_timeout": 5}
    s3 = boto3.client(
        "s3",
        region_name=region,
        endpoint_url=s3_endpoint,
        config=Config(
            signature_version="s3v4",
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path" if s3_endpoint else "auto"},
            **shared,
        ),
    )
    dynamodb = boto3.client("dynamodb", region_name=region, endpoint_url=dynamodb_endpoint, config=Config(**shared))
    return s3, dynamodb
