"""Where a dashboard's verdicts come from: ``sqlite:PATH``, ``dynamodb:TABLE``, or the service's own store."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from attribution_blueprint.errors import EvidenceError
from attribution_service.errors import StoreError
from attribution_service.service import Service
from attribution_service.verdict_database import DatabaseVersionError, VerdictDatabase
from dashboard.readers.sqlite import SqliteReader
from dashboard.readers.store import StoreReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_service.ports import Store
    from attribution_service.service import Caller
    from dashboard.reading import VerdictReader

__all__ = ["VerdictPlace", "parse_place", "reading"]

_EXPECTED = (
    "expected sqlite:PATH, or dynamodb:TABLE (dynamodb:TABLE@BUCKET for verdicts that are too large for an item)"
)


@dataclass(frozen=True, slots=True)
class VerdictPlace:
    """One place as given."""

    kind: str
    """``sqlite``, ``dynamodb``, or empty: the service's own."""
    name: str = ""
    """A file, or a table."""
    bucket: str = ""


def parse_place(text: str) -> VerdictPlace:
    """``EvidenceError`` for what is no place."""
    kind, separator, name = text.partition(":")
    if kind == "sqlite" and name:
        return VerdictPlace(kind, name)
    if kind == "dynamodb" and name:
        table, _, bucket = name.partition("@")
        return VerdictPlace(kind, table, bucket)
    if not separator and not kind:
        return VerdictPlace("")
    msg = f"--verdicts {text}: names no place; {_EXPECTED}"
    raise EvidenceError(msg)


@contextmanager
def reading(place: VerdictPlace, service: Service) -> Iterator[Callable[[Caller], VerdictReader]]:
    """The read port over a place, as long as it is open; ``EvidenceError`` when it cannot be read."""
    if place.kind == "sqlite":
        with _database(Path(place.name).expanduser()) as database:
            lock, name = Lock(), f"SQLite {Path(place.name).name}"
            yield lambda caller: SqliteReader(database, service.clock, name=name, caller=caller, lock=lock)
    elif place.kind == "dynamodb":
        away = Service(_tables(place), service.engine, service.clock, service.settings)
        yield lambda caller: StoreReader(away, name=f"DynamoDB {place.name}", caller=caller)
    else:
        yield lambda caller: StoreReader(service, name="this service", caller=caller)


@contextmanager
def _database(path: Path) -> Iterator[VerdictDatabase]:
    if not path.is_file():
        msg = f"--verdicts sqlite:{path}: there is no such file; expected what the sqlite output of a run writes"
        raise EvidenceError(msg)
    try:
        database = VerdictDatabase.open(path)
    except (sqlite3.Error, DatabaseVersionError) as error:
        msg = f"--verdicts sqlite:{path}: {error}; expected a database of verdicts"
        raise EvidenceError(msg) from error
    try:
        yield database
    finally:
        database.close()


def _tables(place: VerdictPlace) -> Store:
    try:
        # boto3 is slow to import and not installed where nobody uses AWS.
        from attribution_service.stores.aws import AwsNames, open_aws  # noqa: PLC0415 -- see above
        from attribution_service.stores.aws_errors import translated  # noqa: PLC0415 -- see above
    except ImportError as error:
        msg = "--verdicts dynamodb: needs boto3; install gpu-job-attribution[aws]"
        raise EvidenceError(msg) from error
    try:
        with translated("open", place.name):
            return open_aws(AwsNames(place.bucket or "none", "none", place.name))
    except StoreError as error:
        msg = f"--verdicts dynamodb:{place.name}: {error}; expected AWS credentials and a region, as for the AWS CLI"
        raise EvidenceError(msg) from error
