"""Fleets on Step Functions: start one on a state machine, and ask how its execution is."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import DeploymentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RUNNING", "Execution", "StateMachine", "execution_arn"]

RUNNING = "RUNNING"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_ARN = re.compile(r"arn:[a-z-]+:states:([a-z0-9-]+):(\d{12}):stateMachine:([A-Za-z0-9_.:-]+)")


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution: its state (``RUNNING``, ``SUCCEEDED``, ``FAILED``, ``TIMED_OUT``, ``ABORTED``) and why."""

    arn: str
    status: str
    cause: str = ""
    output: str = ""
    """JSON, once it has succeeded."""


@dataclass(frozen=True, slots=True)
class StateMachine:
    """The state machine ``fleet`` of a deployment; ``DeploymentError`` says what AWS answered."""

    arn: str
    endpoint_url: str = ""
    sleep: Callable[[float], None] = time.sleep
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def start(self, run_id: str, request: Mapping[str, Any]) -> Execution:
        """Start a fleet under the name of its run. The same run and request again is the execution that there is."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 -- an extra, and slow to import

        given = json.dumps({**request, "run_id": run_id})
        try:
            answer = self._client().start_execution(stateMachineArn=self.arn, name=run_id, input=given)
        except (BotoCoreError, ClientError) as error:
            msg = f"{self.arn}: not started: {_reason(error)}"
            raise DeploymentError(msg) from error
        return Execution(str(answer["executionArn"]), RUNNING)

    def describe(self, run_id: str) -> Execution | None:
        """The execution of a run; None when there is none of this name."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 -- an extra, and slow to import

        arn = execution_arn(self.arn, run_id)
        try:
            found = self._client().describe_execution(executionArn=arn)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "ExecutionDoesNotExist":
                return None
            msg = f"{arn}: {_reason(error)}"
            raise DeploymentError(msg) from error
        except BotoCoreError as error:
            msg = f"{arn}: {_reason(error)}"
            raise DeploymentError(msg) from error
        cause = " ".join(f"{found.get('error', '')} {found.get('cause', '')}".split())
        return Execution(arn, str(found["status"]), cause[:500], str(found.get("output") or ""))

    def wait(self, run_id: str) -> Execution | None:
        """The execution once it is over, asked for again after pauses that grow to five seconds."""
        pause = _FIRST_PAUSE
        while (found := self.describe(run_id)) is not None and found.status == RUNNING:
            self.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)
        return found

    def _client(self) -> Any:
        if "client" not in self._clients:
            import boto3  # noqa: PLC0415 -- an extra, and slow to import

            region = _parsed(self.arn)[1]
            self._clients["client"] = boto3.client(
                "stepfunctions", region_name=region, endpoint_url=self.endpoint_url or None
            )
        return self._clients["client"]


def execution_arn(state_machine: str, name: str) -> str:
    """The ARN of the execution of this name; ``DeploymentError`` when the state machine's is none."""
    return f"{_parsed(state_machine)[0].replace(':stateMachine:', ':execution:')}:{name}"


def _parsed(arn: str) -> re.Match[str]:
    found = _ARN.fullmatch(arn)
    if found is None:
        msg = f"{arn[:200]!r} is no state machine; expected arn:aws:states:REGION:ACCOUNT:stateMachine:NAME"
        raise DeploymentError(msg)
    return found


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
