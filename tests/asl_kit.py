"""State machines in moto's interpreter, with the real handlers behind them, faults on demand, and every branch noted.

moto 5.2 needs help: functions run in this process, waits of retries are skipped, ``startExecution`` is given its
parameters in boto3's spelling, and a Distributed Map whose children fail fails unless that is tolerated. Nothing of
the product is replaced.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import botocore.loaders
import botocore.session
from moto import mock_aws
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
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_callback
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sfn import (
    StateTaskServiceSfn,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

from attribution_blueprint.deployment import DeployedFunction, _handler
from attribution_blueprint.gateway import Invocation
from attribution_service.http.access import Access
from attribution_service.http.host import Host
from attribution_service.service import Service
from attribution_service.settings import Settings
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from http_kit import ENGINE
from service_kit import REGION, OneAtATime, fast_folder, local_folder_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_service.ports import Store

ROOT = Path(__file__).parents[1]
MACHINES = ROOT / "statemachines"
BUCKET = "attribution-test"
_ACCOUNT = "123456789012"
logging.getLogger("moto").setLevel(logging.CRITICAL)  # it prints whole parse trees
_log = logging.getLogger(__name__)


def definition(name: str) -> dict[str, Any]:
    """A state machine as it stands in the repository."""
    read: dict[str, Any] = json.loads((MACHINES / f"{name}.asl.json").read_text())
    return read


def branches(machine: Mapping[str, Any]) -> Iterator[str]:
    """Every Choice, Retry and Catch branch of a state machine and of the maps within: ``Open/Retry[0]``."""
    for name, state in machine["States"].items():
        for kind in ("Choices", "Retry", "Catch"):
            yield from (f"{name}/{kind}[{number}]" for number in range(len(state.get(kind, ()))))
        if "Default" in state:
            yield f"{name}/Default"
        if "ItemProcessor" in state:
            yield from branches(state["ItemProcessor"])


@dataclass(slots=True)
class Fault:
    """What goes wrong: ``task`` (the key of a function's event), ``read`` (of an item reader) or ``start``."""

    error: str
    task: str = ""
    read: str = ""
    start: bool = False
    instance: str = ""
    """Only for this collector."""
    after: bool = False
    """The function did its work and its answer is lost."""
    times: int = 1

    def fits(self, event: Mapping[str, Any]) -> bool:
        if not self.task or self.task not in event or not self.times:
            return False
        return not self.instance or self.instance in json.dumps(event[self.task])


@dataclass(slots=True)
class Trace:
    """What an execution, with everything that it started, went through."""

    states: list[str] = field(default_factory=list)
    branches: set[str] = field(default_factory=set)
    invocations: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    largest: int = 0
    """Bytes of the largest payload to or from a function."""


@dataclass(slots=True)
class Ended:
    """How an execution ended."""

    arn: str
    status: str
    output: Any
    events: int
    """Of its own history."""
    largest_state: int
    """Bytes of the largest input or output in its history."""
    error: str = ""


@dataclass(slots=True)
class Interpreter:
    """A deployment: functions in this process, state machines in moto, and a store."""

    host: Host
    s3: Any = None
    """Clients of the store, where it is of AWS' kind."""
    dynamodb: Any = None
    trace: Trace = field(default_factory=Trace)
    faults: list[Fault] = field(default_factory=list)
    handlers: dict[str, Any] = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, key: str, body: bytes) -> None:
        """Store an object."""
        self.host.service.store.objects.put(key, body)

    def start(self, name: str, given: Any, *, wait: bool = True) -> Ended:
        """Start an execution; its end."""
        client = boto3.client("stepfunctions", region_name=REGION)
        text = given if isinstance(given, str) else json.dumps(given)
        named = str(uuid.uuid4())
        arn = client.start_execution(stateMachineArn=self.machines[name], name=named, input=text)["executionArn"]
        return self.end(arn) if wait else Ended(arn, "RUNNING", None, 0, 0)

    def end(self, arn: str) -> Ended:
        """Wait for the end of an execution."""
        client = boto3.client("stepfunctions", region_name=REGION)
        while (found := client.describe_execution(executionArn=arn))["status"] == "RUNNING":
            time.sleep(0.03)
        events = client.get_execution_history(executionArn=arn, maxResults=1000, includeExecutionData=True)["events"]
        largest = max(
            (
                len(str(value))
                for event in events
                for details in event.values()
                if isinstance(details, dict)
                for key, value in details.items()
                if key in ("input", "output", "parameters")
            ),
            default=0,
        )
        output = json.loads(found["output"]) if found.get("output") else None
        return Ended(arn, found["status"], output, len(events), largest, str(found.get("error") or ""))

    def invoke(self, function: str, payload: bytes) -> tuple[str, bytes]:
        """(error kind, answer) of a function, as Lambda's Invoke has it."""
        event = json.loads(payload)
        task = "detail" if "detail" in event else next(iter(event))
        with self.lock:
            self.trace.invocations[task] += 1
            fault = next((one for one in self.faults if one.fits(event)), None)
            if fault is not None:
                fault.times -= 1
        if fault is not None and not fault.after:
            return _as_case_says(fault)
        try:
            folder = function.rpartition(":")[2]
            answer = self.handlers[folder](event, Invocation(folder, self.host, 30))
        except Exception as error:  # noqa: BLE001 -- as the runtime of a function does
            _log.info("%s", task, exc_info=error)
            return "Unhandled", json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)}).encode()
        if fault is not None:
            return _as_case_says(fault)
        body = json.dumps(answer, separators=(",", ":")).encode()
        with self.lock:
            self.trace.largest = max(self.trace.largest, len(body), len(payload))
        return "", body

    def fail_read(self, key: str) -> Fault | None:
        """The fault of an item reader, once."""
        return self._taken(lambda one: bool(one.read) and one.read in key)

    def fail_start(self) -> Fault | None:
        """The fault of starting an execution, once."""
        return self._taken(lambda one: one.start)

    def _taken(self, fits: Any) -> Fault | None:
        with self.lock:
            fault = next((one for one in self.faults if one.times and fits(one)), None)
            if fault is not None:
                fault.times -= 1
            return fault


def _as_case_says(fault: Fault) -> tuple[str, bytes]:
    return "Unhandled", json.dumps({"errorType": fault.error, "errorMessage": "as the case says"}).encode()


@contextmanager
def interpreter(settings: Settings | None = None, *, aws: bool = False) -> Iterator[Interpreter]:
    """An empty deployment whose functions read the variables of this process, like the deployed ones.

    Its store is a folder, which is a tenth of the work, or (``aws``) bucket and tables in moto.
    """
    config = {"stepfunctions": {"execute_state_machine": True}, "lambda": {"use_docker": False}}
    with ExitStack() as stack:
        stack.enter_context(patch.object(botocore.session, "create_loader", lambda *_: _LOADER))
        stack.enter_context(mock_aws(config=config))  # type: ignore[arg-type]  # moto's own type lags
        boto3.client("s3", region_name=REGION).create_bucket(Bucket=BUCKET)  # a result writer's, whatever the store
        clients = _aws_clients() if aws else (None, None)
        store = _aws_store(*clients) if aws else stack.enter_context(_local())
        service = Service(store, ENGINE, time.time, settings or Settings())
        made = Interpreter(Host(service, Access(), write_metrics=lambda _: None), *clients)
        made.handlers = {path.parent.name: handler(path.parent) for path in (ROOT / "functions").glob("*/app.py")}
        for patched in _patches(made):
            stack.enter_context(patched)
        _create(made)
        yield made


def _aws_clients() -> tuple[Any, Any]:
    s3, dynamodb = aws_clients(region=REGION)
    dynamodb.create_table(**table_definition("sessions", SESSION_INDEXES))
    dynamodb.create_table(**table_definition("verdicts", VERDICT_INDEXES))
    return s3, dynamodb


def _aws_store(s3: Any, dynamodb: Any) -> Store:
    return aws_store(AwsNames(BUCKET, "sessions", "verdicts"), s3, OneAtATime(dynamodb), sleep=lambda _: None)


@contextmanager
def _local() -> Iterator[Store]:
    folder = fast_folder()
    try:
        with local_folder_store(folder) as store:
            yield store
    finally:
        shutil.rmtree(folder)


def handler(folder: Path) -> Any:
    """The handler of a function's folder."""
    return _handler(DeployedFunction(folder.name, folder, "app.handler", 900))


def _create(made: Interpreter) -> None:
    client = boto3.client("stepfunctions", region_name=REGION)
    for name in ("job", "fleet"):
        text = (MACHINES / f"{name}.asl.json").read_text()
        for folder in made.handlers:
            short = "".join(part.capitalize() for part in folder.split("_"))
            arn = f"arn:aws:lambda:{REGION}:{_ACCOUNT}:function:{folder}"
            text = text.replace(f"${{{short}Function}}", arn)
        text = text.replace("${Bucket}", BUCKET).replace("${JobWorkflow}", made.machines.get("job", ""))
        reply = client.create_state_machine(name=name, definition=text, roleArn=f"arn:aws:iam::{_ACCOUNT}:role/any")
        made.machines[name] = reply["stateMachineArn"]


def _patches(made: Interpreter) -> list[Any]:
    """What moto is given; see the module's text."""
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
"""One for all deployments: each new session would read the models of the services again."""


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
        assert named["Bucket"] == BUCKET
        fault = made.fail_read(named["Key"])
        if fault is not None:
            raise _failure(env, fault.error)
        env.stack.append(made.host.service.store.objects.get(named["Key"]).decode())

    return get_object


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
