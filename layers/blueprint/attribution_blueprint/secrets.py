"""Secrets that a configuration names instead of holding: ``aws:secretsmanager:NAME#key`` and ``aws:ssm:NAME``.

They are looked up with the credentials that AWS' tools find, so the same file works in a function and on a machine.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import AuthError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_reference", "secret_source"]

_MANAGER, _PARAMETER = "aws:secretsmanager:", "aws:ssm:"
_EXPECTED = f"expected {_MANAGER}NAME, {_MANAGER}NAME#key for a key of its JSON, or {_PARAMETER}NAME"


def is_reference(text: str) -> bool:
    """Whether a secret is named rather than given."""
    return text.startswith((_MANAGER, _PARAMETER))


def secret_source() -> Callable[[str], str]:
    """A function from a reference to the secret, which asks once for each; ``AuthError`` never holds the secret."""
    return cache(_secret)


def _secret(reference: str) -> str:
    if reference.startswith(_PARAMETER):
        name = reference.removeprefix(_PARAMETER)
        found = _asked("ssm", "get_parameter", reference, Name=name, WithDecryption=True)
        return str(found["Parameter"]["Value"])
    name, _, key = reference.removeprefix(_MANAGER).partition("#")
    text = _asked("secretsmanager", "get_secret_value", reference, SecretId=name).get("SecretString")
    if text is None:
        msg = f"{reference}: holds bytes; {_EXPECTED}"
        raise AuthError(msg)
    return str(text) if not key else _part(str(text), key, reference)


def _part(text: str, key: str, reference: str) -> str:
    try:
        found = json.loads(text)[key]
    except (ValueError, TypeError, KeyError):
        msg = f"{reference}: the secret is no JSON object with this key; {_EXPECTED}"
        raise AuthError(msg) from None
    if not isinstance(found, str):
        msg = f"{reference}: the key's value is no text; expected text"
        raise AuthError(msg)
    return found


def _asked(service: str, call: str, reference: str, **parameters: Any) -> Any:
    """What a service answers; the reference says what was asked for."""
    try:
        # Only who names a secret of AWS needs its library.
        import boto3  # noqa: PLC0415 -- see above
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 -- likewise
    except ModuleNotFoundError as error:
        msg = f"{reference}: {error.name} is not installed; expected: pip install 'gpu-job-attribution[aws]'"
        raise AuthError(msg) from error
    try:
        return getattr(boto3.client(service), call)(**parameters)
    except (BotoCoreError, ClientError) as error:
        msg = f"{reference}: {' '.join(str(error).split())[:300]}; {_EXPECTED}"
        raise AuthError(msg) from error
