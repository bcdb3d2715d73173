"""What Step Functions knows of an execution."""

from __future__ import annotations

import boto3
from botocore.exceptions import ClientError

from attribution_service.stores.aws_errors import error_code, translated

__all__ = ["is_running"]


def is_running(execution: str) -> bool:
    """Whether the execution of this ARN still runs; one that is not known any more does not. ``StoreError``."""
    client = boto3.client("stepfunctions")
    with translated("describe", execution):
        try:
            return bool(client.describe_execution(executionArn=execution)["status"] == "RUNNING")
        except ClientError as error:
            if error_code(error) in ("ExecutionDoesNotExist", "InvalidArn"):
                return False
            raise
