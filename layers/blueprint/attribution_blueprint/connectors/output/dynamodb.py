"""``dynamodb``: verdicts in a table like the service's own, which the dashboard reads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.errors import OutputError
from attribution_service.errors import ServiceError, StoreError
from attribution_service.ports import Store
from attribution_service.service import EVERYTHING, Service
from attribution_service.stores.aws_objects import S3Objects
from attribution_service.stores.aws_table import DynamoTable
from attribution_service.verdicts import write_verdict

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

__all__ = ["DynamodbSettings", "DynamodbSink"]


class DynamodbSettings(AwsSettings):
    """A table as template.yaml makes it: key ``pk`` and ``sk`` (text); the dashboard needs its two indexes as well."""

    table: str = Field(min_length=3, description="The table's name or ARN.")
    bucket: str = Field(
        default="",
        description="For verdicts that are too large for an item even packed (some 2.5 MB); empty: these are refused.",
    )


class DynamodbSink:
    """``pk`` cluster#job, ``sk`` attempt#run; ``body``: the verdict's JSON; ``packed``: the same, gzip and base64."""

    Settings: ClassVar[type[DynamodbSettings]] = DynamodbSettings

    def __init__(self, name: str, settings: DynamodbSettings) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)

    def write(self, verdict: EnrichedVerdict) -> None:
        """Store one verdict; the same run of the same context is stored once."""
        try:
            write_verdict(self._service(), EVERYTHING, verdict, pack=True)
        except ServiceError as error:
            faults = "; ".join(f"{fault['field']}: {fault['problem']}" for fault in error.extras.get("faults", ()))
            msg = f"output {self.name}: table {self.settings.table}: {error.detail}{': ' + faults if faults else ''}"
            raise OutputError(msg) from error
        except AWS_ERRORS as error:
            msg = f"output {self.name}: table {self.settings.table}: {reason_of(error)}"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Nothing is kept back."""

    def _service(self) -> Service:
        """As much of the service as storing a verdict needs."""
        table = DynamoTable(self._aws.client("dynamodb"), self.settings.table)
        s3, bucket = self._aws.client("s3"), self.settings.bucket
        return Service(
            Store(S3Objects(s3, bucket) if bucket else _NoBucket(s3, ""), table, table), _no_rules, time.time
        )


class _NoBucket(S3Objects):
    """Where no bucket is named, nothing is put anywhere."""

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:  # noqa: ARG002 -- the port's
        """Refuse."""
        size = len(body) if isinstance(body, bytes) else 0
        msg = f"{key}: the verdict of {size} bytes is too large for an item even packed: name a bucket"
        raise StoreError(msg)


def _no_rules() -> RuleEngine:
    msg = "a sink runs no rules"
    raise NotImplementedError(msg)
