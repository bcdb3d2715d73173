"""botocore's errors as the port's, translated in one place."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from attribution_service.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["error_code", "http_status", "translated"]


def error_code(error: ClientError) -> str:
    """The error's name: ``ConditionalCheckFailedException``, ``NoSuchKey`` and the like."""
    return str(error.response.get("Error", {}).get("Code", ""))


def http_status(error: ClientError) -> int:
    """The status of the answer; 0 when there was none."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def translated(action: str, address: str) -> Iterator[None]:
    """Any error of the client library becomes a ``StoreError`` that says what was tried on what."""
    try:
        yield
    except ClientError as error:
        raise StoreError(f"{action} {address[:200]!r}: {error_code(error) or http_status(error)}") from error
    except BotoCoreError as error:
        raise StoreError(f"{action} {address[:200]!r}: {type(error).__name__}: {str(error)[:200]}") from error
