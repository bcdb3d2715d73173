"""The back end of a deployed function: names from the variables that ``template.yaml`` sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import boto3

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError
from attribution_service.stores.aws import AwsNames, open_aws
from attribution_service.stores.aws_errors import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attribution_service.ports import Store

__all__ = ["deployed_store", "invoker"]

_NAMES = ("ATTRIBUTION_BUCKET", "ATTRIBUTION_SESSIONS_TABLE", "ATTRIBUTION_VERDICTS_TABLE")
_ATTRIBUTE_FUNCTION = "ATTRIBUTION_ATTRIBUTE_FUNCTION"


def deployed_store(environment: Mapping[str, str]) -> Store:
    """The store that the variables name; ``InvalidRequestError`` lists those that are missing."""
    missing = [Fault(name, "", "is not set", "the name that template.yaml gives") for name in _NAMES]
    missing = [fault for fault in missing if not environment.get(fault.address)]
    if missing:
        raise InvalidRequestError("the settings are not valid", missing)
    return open_aws(AwsNames(*(environment[name] for name in _NAMES)))


def invoker(environment: Mapping[str, str]) -> Callable[[str], None] | None:
    """Starts the asynchronous attribution of a session by invoking its function; None where no function is named."""
    function = environment.get(_ATTRIBUTE_FUNCTION, "")
    if not function:
        return None

    def invoke(attributor_id: str) -> None:
        payload = json.dumps({"attribute_later": attributor_id}).encode()
        with translated("invoke", function):
            boto3.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=payload)

    return invoke
