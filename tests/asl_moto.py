"""What moto's interpreter of state machines is given, so that it runs ours as AWS does, and tells what it went through.

moto 5.2 needs help: functions run in this process, waits of retries are skipped, ``startExecution`` is given its
parameters in boto3's spelling, results are written where the input says, and a Distributed Map whose children fail
fails unless that is tolerated.
"""

from __future__ import annotations

import json
import logging
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import botocore.loaders
import botocore.session
from moto.awslambda.models import LambdaBackend
from moto.awslambda_simple.models import LambdaSimpleBackend
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.catch.catch_decl import CatchDecl
from moto.stepfunctions.parser.asl.component.common.catch.catch_outcome import CatchOutcome
from moto.stepfunctions.parser.asl.component.common.catch.catcher_outcome import CatcherOutcomeCaught
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.common.retry.retrier_outcome import RetrierOutcome
from moto.stepfunctions.parser.asl.component.common.retry.retry_decl import RetryDecl
from moto.stepfunctions.parser.asl.component.common.retry.retry_outcome import RetryOutcome
from moto.stepfunctions.parser.asl.component.state.choice.state_choice import StateChoice
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.eval.resource_eval_s3 import (
    ResourceEvalS3,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.result_writer.result_writer_decl import ResultWriter
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_callback
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sfn import (
    StateTaskServiceSfn,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

from service_kit import REGION

if TYPE_CHECKING:
    from asl_kit import Interpreter, Trace


logging.getLogger("moto").setLevel(logging.CRITICAL)  # it prints whole parse trees


def patches(made: Interpreter) -> list[Any]:
    """What moto is given while ``made`` stands; see the module's text."""
    return [
        patch.object(AmazonStateLanguageParser, "parse", staticmethod(_parse)),
        *[patch.object(kind, "invoke", _invoke(made)) for kind in (LambdaBackend, LambdaSimpleBackend)],
        patch.object(lambda_eval_utils, "boto_client_for", _one_client(boto3.client("lambda", region_name=REGION))),
        patch.object(retrier_decl, "time", _Clock(made.trace)),
        patch.object(state_task_service_callback, "_DELAY_SECONDS_SYNC_CONDITION_CHECK", 0.01),
        patch.object(RetryDecl, "_eval_body", _retry(made.trace)),
        patch.object(CatchDecl, "_eval_body", _catch(made.trace)),
        patch.object(StateChoice, "_eval_state", _choice(made.trace)),
        patch.object(EventManager, "add_event", _add_event(made.trace)),
        patch.object(ResourceEvalS3, "_handle_get_object", staticmethod(_get_object(made))),
        patch.object(ResultWriter, "_eval_body", _write_results(made)),
        patch.object(StateTaskServiceSfn, "_normalise_parameters", _start_parameters),
        patch.object(StateTaskServiceSfn, "_normalise_response", _upper_keys),
        patch.object(StateTaskServiceSfn, "_eval_service_task", _start(made)),
    ]


def _parse(text: str) -> Any:
    """Moto parses a definition for every execution; the grammar is slow, and its tree can be used again."""
    tree = _tree(text)
    return Preprocessor().visit(tree), tree


@cache
def _tree(text: str) -> Any:
    return _PARSE(text)[1]


_PARSE = AmazonStateLanguageParser.parse
_LOADER = botocore.loaders.create_loader()


def one_loader() -> Any:
    """The models of the services are read once for all deployments, not again for each new session."""
    return patch.object(botocore.session, "create_loader", lambda *_: _LOADER)


def _one_client(client: Any) -> Any:
    """One for all: moto makes one for every task."""
    return lambda **_: client


class _Clock:
    """In place of ``time`` in the interpreter's retries: waits are noted, not waited."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def sleep(self, seconds: float) -> None:
        self._trace.waits.append(seconds)


def _invoke(made: Interpreter) -> Any:
    def invoke(  # noqa: PLR0913, PLR0917 -- moto's
        backend: Any, function_name: str, qualifier: Any, body: Any, headers: Any, response_headers: dict[str, str]
    ) -> bytes:
        del backend, qualifier, headers
        kind, answer = made.invoke(function_name, body.encode() if isinstance(body, str) else body)
        if kind:
            response_headers["x-amz-function-error"] = kind
        return answer

    return invoke


def _state_name(env: Any) -> str:
    return str(env.states.context_object.context_object_data["State"]["Name"])


def _retry(trace: Trace) -> Any:
    def evaluate(self: Any, env: Any) -> None:
        error = env.stack.pop()
        for number, retrier in enumerate(self.retriers):
            env.stack.append(error)
            retrier.eval(env)
            outcome = env.stack.pop()
            if outcome == RetrierOutcome.Skipped:
                continue
            trace.branches.add(f"{_state_name(env)}/Retry[{number}]")
            again = outcome == RetrierOutcome.Executed
            env.stack.append(RetryOutcome.CanRetry if again else RetryOutcome.CannotRetry)
            return
        env.stack.append(RetryOutcome.NoRetrier)

    return evaluate


def _catch(trace: Trace) -> Any:
    def evaluate(self: Any, env: Any) -> None:
        for number, catcher in enumerate(self.catchers):
            catcher.eval(env)
            if isinstance(env.stack.pop(), CatcherOutcomeCaught):
                trace.branches.add(f"{_state_name(env)}/Catch[{number}]")
                env.stack.append(CatchOutcome.Caught)
                return
        env.stack.append(CatchOutcome.NotCaught)

    return evaluate


def _choice(trace: Trace) -> Any:
    def evaluate(self: Any, env: Any) -> None:
        for number, rule in enumerate(self.choices_decl.rules):
            rule.eval(env)
            if env.stack.pop() is True:
                trace.branches.add(f"{self.name}/Choices[{number}]")
                env.stack.append(rule.next_stmt.name)
                return
        trace.branches.add(f"{self.name}/Default")
        env.stack.append(self.default_state.state_name)

    return evaluate


def _add_event(trace: Trace) -> Any:
    original = EventManager.add_event

    def add_event(self: Any, *arguments: Any, **named: Any) -> Any:
        entered = (named.get("event_details") or {}).get("stateEnteredEventDetails")
        if entered is not None:
            trace.states.append(entered["name"])
        return original(self, *arguments, **named)

    return add_event


def _failure(env: Any, error: str) -> FailureEventException:
    details = TaskFailedEventDetails(error=error, cause="as the case says", resource="any", resourceType="any")
    return FailureEventException(
        FailureEvent(
            env=env,
            error_name=CustomErrorName(error) if not error.startswith("States.") else _states_error(error),
            event_type=HistoryEventType.TaskFailed,
            event_details=EventDetails(taskFailedEventDetails=details),
        )
    )


def _states_error(error: str) -> Any:
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import (  # noqa: PLC0415
        StatesErrorName,
    )

    return StatesErrorName.from_name(error)


def _get_object(made: Interpreter) -> Any:
    """An item reader's object, from whichever store there is."""

    def get_object(env: Any, resource_runtime_part: Any, state_credentials: Any) -> None:
        del resource_runtime_part, state_credentials
        named = env.stack.pop()
        assert named["Bucket"] == made.bucket
        fault = made.fail_read(named["Key"])
        if fault is not None:
            raise _failure(env, fault.error)
        env.stack.append(made.host.service.store.objects.get(named["Key"]).decode())

    return get_object


def _write_results(made: Interpreter) -> Any:
    """Where a Distributed Map writes its results is said by the state's input; moto looks into the results for it."""

    def evaluate(self: Any, env: Any) -> None:
        env.stack[-1] = env.states.get_input()
        self.parargs.eval(env=env)
        named = env.stack.pop()
        assert named["Bucket"] == made.bucket
        env.stack[-1] = {"ResultWriterDetails": {"Bucket": named["Bucket"], "Key": f"{named['Prefix']}/manifest.json"}}

    return evaluate


def _start_parameters(self: Any, parameters: dict[str, Any], *_: Any, **__: Any) -> None:
    del self
    for key in list(parameters):
        parameters[key[0].lower() + key[1:]] = parameters.pop(key)
    if not isinstance(parameters.get("input", ""), str):
        parameters["input"] = json.dumps(parameters["input"])
    parameters.setdefault("name", str(uuid.uuid4()))


def _upper_keys(self: Any, response: dict[str, Any], *_: Any, **__: Any) -> None:
    del self
    for key in list(response):
        value = response.pop(key)
        response[key[0].upper() + key[1:]] = value.isoformat() if hasattr(value, "isoformat") else value


def _start(made: Interpreter) -> Any:
    original = StateTaskServiceSfn._eval_service_task

    def evaluate(self: Any, env: Any, *arguments: Any, **named: Any) -> None:
        fault = made.fail_start()
        if fault is not None:
            raise _failure(env, fault.error)
        original(self, env, *arguments, **named)
        reply = env.stack.pop()
        _upper_keys(self, reply)
        env.stack.append(reply)

    return evaluate
