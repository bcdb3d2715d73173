"""What Step Functions knows of an execution."""

from __future__ import annotations

import json

import boto3
from botocore.exceptions import ClientError

from attribution_service.stores.aws_errors import error_code, translated
from attribution_service.workflow.sweeping import Execution

__all__ = ["describe_execution"]

_FORGOTTEN = "FORGOTTEN"


def describe_execution(execution: str) -> Execution:
    """The execution of this ARN; one that is not known any more (after 90 days) does not run. ``StoreError``."""
    name = execution.rpartition(":")[2]
    with translated("describe", execution):
        try:
            found = boto3.client("stepfunctions").describe_execution(executionArn=execution)
        except ClientError as error:
            if error_code(error) in ("ExecutionDoesNotExist", "InvalidArn"):
                return Execution(_FORGOTTEN, name)
            raise
    return Execution(found["status"], str(json.loads(found.get("input") or "{}").get("run_id") or name))
