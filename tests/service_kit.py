"""What service tests share: stores of both kinds, a service with a clock that a test moves, bodies in one call."""

from __future__ import annotations

import json
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moto import mock_aws

from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from attribution_service.stores.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.ports import Store

REGION = "us-east-1"


def fast_folder() -> Path:
    """A new folder where syncs cost little: what a test stores need not outlive the machine."""
    memory = Path("/dev/shm")  # noqa: S108 -- a RAM disk, and the name below it is random
    return Path(tempfile.mkdtemp(prefix="attribution-", dir=memory if memory.is_dir() else None))


@contextmanager
def moto_store() -> Iterator[Store]:
    """A store over moto, in this process, with a bucket and tables of its own."""
    with mock_aws():
        yield make_aws_store(*aws_clients(region=REGION))


def make_aws_store(s3: Any, dynamodb: Any) -> Store:
    """Make a bucket and the two tables; the store over them."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    names = AwsNames(name, f"{name}-sessions", f"{name}-verdicts")
    s3.create_bucket(Bucket=name)
    dynamodb.create_table(**table_definition(names.sessions_table, SESSION_INDEXES))
    dynamodb.create_table(**table_definition(names.verdicts_table, VERDICT_INDEXES))
    return aws_store(names, s3, dynamodb, sleep=lambda _: None)


@contextmanager
def local_folder_store(folder: Path) -> Iterator[Store]:
    """A store in a folder."""
    back_end = open_local(folder)
    try:
        yield back_end.store
    finally:
        back_end.close()


def body_of(*entries: Any, **header: Any) -> bytes:
    """An observation as JSON."""
    fields = {"source": "applog", "format": "text", "stream": "a.log", **header}
    return json.dumps({**fields, "entry_timeseries": list(entries)}).encode()
