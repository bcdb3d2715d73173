"""``s3``: log objects, packed ones too, unpacked as they are read."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field
from urllib3.exceptions import ProtocolError

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.connectors.collector import LogSettings
from attribution_blueprint.connectors.log.addresses import filled_addresses, named_places
from attribution_blueprint.context import EvidencePlace, PlaceKind
from attribution_blueprint.errors import CollectError
from attribution_blueprint.setting_types import Texts
from attribution_lib.observation import Observation, Source
from attribution_lib.parsing.packed import DamagedError, NoZstdError, inflated, packing_of
from attribution_service.slabs import cut_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.context import ExecutionContext

__all__ = ["S3Log", "S3LogSettings"]

_BLOCK = 1 << 20
_MICROS = 1_000_000
_HEAD = 6
_REASONS_SHOWN = 5


class S3LogSettings(LogSettings, AwsSettings):
    """Objects that the adapter names for this source, and ``urls``."""

    job_output: bool = Field(default=True, description="Read the objects that the adapter names for this source.")
    urls: Texts = Field(
        default=(),
        description="Further ones as s3://bucket/key; {job_id} {name} {node} are filled in, * or / ends a prefix.",
    )


class S3Log:
    """Reads objects in batches of whole lines; memory does not grow with their length."""

    Settings: ClassVar[type[S3LogSettings]] = S3LogSettings

    def __init__(self, name: str, settings: S3LogSettings) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)

    @property
    def source(self) -> Source:
        """As set."""
        return self.settings.source

    def plan(self, context: ExecutionContext) -> list[str]:
        """The addresses."""
        return [place.name for place in self._places(context)]

    def collect(self, context: ExecutionContext, budget: Budget) -> Iterator[Observation]:
        """Every object; one that cannot be read costs only itself."""
        reasons = []
        for place in self._places(context):
            try:
                for bucket, key in self._objects(place.name, context, budget):
                    try:
                        yield from self._read(bucket, key, place, budget)
                    except (*AWS_ERRORS, DamagedError, NoZstdError, ProtocolError, OSError) as error:
                        reasons.append(f"s3://{bucket}/{key}: {reason_of(error)}")
            except AWS_ERRORS as error:
                reasons.append(f"{place.name}: {reason_of(error)}")
        if reasons:
            raise CollectError("; ".join(reasons[:_REASONS_SHOWN]))

    def _places(self, context: ExecutionContext) -> Iterator[EvidencePlace]:
        if self.settings.job_output:
            yield from named_places(context, PlaceKind.S3, self.source)
        for address, node in filled_addresses(self.settings.urls, context.info):
            yield EvidencePlace(PlaceKind.S3, address, node=node)

    def _objects(self, url: str, context: ExecutionContext, budget: Budget) -> Iterator[tuple[str, str]]:
        """Bucket and key of what an address means; of a prefix, what was written since the job began."""
        bucket, _, key = url.removeprefix("s3://").partition("/")
        if not url.startswith("s3://") or not bucket:
            msg = f"{url}: expected s3://bucket/key"
            raise CollectError(msg)
        if not key.endswith(("*", "/")):
            yield bucket, key
            return
        start = context.window.start
        asked: dict[str, Any] = {"Bucket": bucket, "Prefix": key.removesuffix("*")}
        while True:
            budget.remaining()
            page = self._aws.client("s3").list_objects_v2(**asked)
            for found in page.get("Contents", ()):
                if start is None or found["LastModified"].timestamp() * _MICROS >= start:
                    yield bucket, found["Key"]
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def _read(self, bucket: str, key: str, place: EvidencePlace, budget: Budget) -> Iterator[Observation]:
        number = 1
        stream = f"s3://{bucket}/{key}"
        body = _Object(self._aws.client("s3"), bucket, key, self.settings.tries)
        try:
            for text in cut_lines(_blocks(body), self.settings.batch_bytes):
                budget.remaining()
                yield Observation(
                    self.source, stream=stream, first_line=number, node=place.node, rank=place.rank, text=text
                )
                number += text.count(b"\n")
        finally:
            body.close()


class _Object(io.RawIOBase):
    """An object's bytes; what is cut off on the way is asked for again from there, of the same version of it."""

    def __init__(self, client: Any, bucket: str, key: str, tries: int) -> None:
        self._client, self._asked, self._tries = client, {"Bucket": bucket, "Key": key}, tries
        self._position = 0
        self._reply: Any = client.get_object(**self._asked)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes; 0 at the end."""
        while True:
            try:
                block = self._reply["Body"].read(len(buffer))
                break
            except (*AWS_ERRORS, ProtocolError, OSError):
                self._tries -= 1
                if self._tries <= 0:
                    raise
                self._again()
        buffer[: len(block)] = block
        self._position += len(block)
        return len(block)

    def close(self) -> None:
        """Give the connection back."""
        self._reply["Body"].close()
        super().close()

    def _again(self) -> None:
        self._reply["Body"].close()
        same = {"IfMatch": self._reply["ETag"]} if "ETag" in self._reply else {}
        rest = {"Range": f"bytes={self._position}-"} if self._position else {}
        self._reply = self._client.get_object(**self._asked, **rest, **same)
        if rest and not str(self._reply.get("ContentRange", "")).startswith(f"bytes {self._position}-"):
            msg = f"cut off after {self._position} bytes, and the rest cannot be asked for"
            raise OSError(msg)


def _blocks(body: io.RawIOBase) -> Iterator[bytes]:
    file = io.BufferedReader(body, _BLOCK)
    kind = packing_of(file.peek(_HEAD)[:_HEAD])
    blocks = iter(lambda: file.read(_BLOCK), b"")
    yield from inflated(blocks, kind) if kind else blocks
