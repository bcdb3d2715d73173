"""Objects in one S3 bucket."""

from __future__ import annotations

import base64
import time
from io import RawIOBase
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import ClientError

from attribution_service.errors import StoreError
from attribution_service.ports import ObjectExistsError, ObjectInfo, ObjectMissingError, PresignedPut
from attribution_service.stores.aws_errors import error_code, http_status, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["S3Objects"]

_PRECONDITION_FAILED = 412
_CONFLICT = 409
_TRIES = 6
_PAUSE = 0.05
_DELETE_BLOCK = 1_000


class S3Objects:
    """An ``ObjectStore`` over a low-level S3 client."""

    def __init__(
        self,
        client: Any,
        bucket: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._sleep = sleep
        self._clock = clock

    def put(self, key: str, body: bytes | BinaryIO, *, if_absent: bool = False) -> None:
        """One PUT; with ``if_absent`` S3 itself decides who is first."""
        condition = {"IfNoneMatch": "*"} if if_absent else {}
        start = 0 if isinstance(body, bytes) else body.tell()
        for attempt in range(_TRIES):
            with translated("put", key):
                try:
                    self._client.put_object(Bucket=self._bucket, Key=key, Body=body, **condition)
                except ClientError as error:
                    if http_status(error) == _PRECONDITION_FAILED:
                        raise ObjectExistsError(key) from error
                    # 409 ConditionalRequestConflict: another write of this key is under way. It says nothing about
                    # whether the object exists.
                    if http_status(error) != _CONFLICT:
                        raise
                else:
                    return
            if not isinstance(body, bytes):
                body.seek(start)
            self._sleep(_PAUSE * 2**attempt)
        raise StoreError(f"put {key[:200]!r}: another write of it is under way, still after {_TRIES} tries")

    def get(self, key: str) -> bytes:
        """The whole body."""
        with translated("get", key):
            return bytes(self._get(key).read())

    def open(self, key: str) -> BinaryIO:
        """The body as a stream."""
        with translated("open", key):
            return cast(BinaryIO, _Body(self._get(key), key))

    def head(self, key: str) -> ObjectInfo:
        """Size without reading."""
        with translated("head", key):
            try:
                answer = self._client.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                raise _missing(error, key) from error
        return ObjectInfo(key, int(answer["ContentLength"]))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Page by page."""
        with translated("list", prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                for entry in page.get("Contents", []):
                    yield ObjectInfo(entry["Key"], int(entry["Size"]))

    def delete(self, key: str) -> None:
        """Remove an object; S3 says nothing when there is none."""
        with translated("delete", key):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def delete_all(self, keys: Iterable[str]) -> int:
        """A thousand a call; ``StoreError`` when S3 keeps any."""
        count = 0
        rest = iter(keys)
        while block := list(islice(rest, _DELETE_BLOCK)):
            request = {"Objects": [{"Key": key} for key in block], "Quiet": True}
            with translated("delete", block[0]):
                answer = self._client.delete_objects(Bucket=self._bucket, Delete=request)
            for failed in answer.get("Errors", []):
                raise StoreError(f"delete {failed.get('Key')!r}: {failed.get('Code')}")
            count += len(block)
        return count

    def presign_put(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        """Size, type, checksum and "only if absent" are part of the signature, so S3 refuses anything else."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        parameters = {
            "Bucket": self._bucket,
            "Key": key,
            "ContentLength": size,
            "ContentType": content_type,
            "ChecksumSHA256": checksum,
            "IfNoneMatch": "*",
        }
        with translated("presign", key):
            url = self._client.generate_presigned_url("put_object", Params=parameters, ExpiresIn=expires_in)
        headers = {
            "Content-Length": str(size),
            "Content-Type": content_type,
            "If-None-Match": "*",
            "x-amz-checksum-sha256": checksum,
        }
        return PresignedPut(str(url), headers, int(self._clock()) + expires_in)

    def _get(self, key: str) -> Any:
        try:
            return self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        except ClientError as error:
            raise _missing(error, key) from error


class _Body(RawIOBase):
    """A response body whose read errors are translated too: they come long after the call."""

    def __init__(self, body: Any, key: str) -> None:
        super().__init__()
        self._body = body
        self._key = key

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with translated("read", self._key):
            block = self._body.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()


def _missing(error: ClientError, key: str) -> ObjectMissingError | ClientError:
    """What a failed read means: the object is not there, or the very error."""
    if error_code(error) in ("NoSuchKey", "NotFound", "404"):
        return ObjectMissingError(key)
    return error
