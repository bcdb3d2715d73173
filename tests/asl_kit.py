"""State machines in moto's interpreter, with the real handlers behind them, faults on demand, and every branch noted.

What moto is given for it stands in ``asl_moto``; nothing of the product is replaced.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from moto import mock_aws

from asl_moto import one_loader, patches
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
    bucket: str = BUCKET
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
        stack.enter_context(one_loader())
        stack.enter_context(mock_aws(config=config))  # type: ignore[arg-type]  # moto's own type lags
        boto3.client("s3", region_name=REGION).create_bucket(Bucket=BUCKET)  # a result writer's, whatever the store
        clients = _aws_clients() if aws else (None, None)
        store = _aws_store(*clients) if aws else stack.enter_context(_local())
        service = Service(store, ENGINE, time.time, settings or Settings())
        made = Interpreter(Host(service, Access(), write_metrics=lambda _: None), *clients)
        made.handlers = {path.parent.name: handler(path.parent) for path in (ROOT / "functions").glob("*/app.py")}
        for patched in patches(made):
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
