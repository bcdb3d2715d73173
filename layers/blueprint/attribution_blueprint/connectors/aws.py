"""Clients of AWS for connectors: region, profile, endpoint and retries in one place."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from random import random
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import Field

from attribution_blueprint.setting_types import ComponentSettings, Seconds
from attribution_service.transport import asked_pause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AWS_ERRORS", "AwsClients", "AwsSettings", "reason_of"]

AWS_ERRORS = (BotoCoreError, ClientError)
"""What a call may raise."""
_TOO_MANY, _AWAY, _GOOD = 429, 503, 300
_LONGEST_PAUSE = 60.0


class AwsSettings(ComponentSettings):
    """Settings of every component that asks AWS; credentials are found as all of AWS' tools find them."""

    region: str = Field(default="", description="Region; empty: as the environment or the profile says.")
    profile: str = Field(default="", description="Profile of the credentials; empty: the environment's.")
    endpoint_url: str = Field(default="", description="Another endpoint, such as that of a VPC.")
    tries: int = Field(default=5, ge=1, le=20, description="How often a request is sent when it is throttled.")
    request_seconds: Seconds = Field(default=30.0, ge=1, description="How long one request may take.")


@dataclass(slots=True)
class AwsClients:
    """Clients by service, made when first used; threads share them."""

    settings: AwsSettings
    _known: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, service: str) -> Any:
        """The client of a service."""
        chosen = self.settings
        with self._lock:
            if service not in self._known:
                session = boto3.Session(profile_name=chosen.profile or None, region_name=chosen.region or None)
                config = Config(
                    retries={"mode": "standard", "total_max_attempts": chosen.tries},
                    connect_timeout=min(10.0, chosen.request_seconds),
                    read_timeout=chosen.request_seconds,
                )
                made = session.client(service, config=config, endpoint_url=chosen.endpoint_url or None)
                made.meta.events.register("before-parse", _readable)
                made.meta.events.register("needs-retry", _Again(chosen.tries))
                made.meta.events.register("after-call", _whole)
                self._known[service] = made
            return self._known[service]


class _ReplyError(BotoCoreError):  # type: ignore[misc]  # botocore has no types
    """A reply that botocore takes for an empty one: cut off, or of somebody else on the way."""

    fmt = "{operation}: the reply is {what}"


@dataclass(frozen=True, slots=True)
class _Again:
    """What botocore does not try again by itself: a plain 429, and replies that are cut off; heeds ``Retry-After``."""

    tries: int

    def __call__(self, *, response: Any, operation: Any, attempts: int, **_: Any) -> float | None:
        if response is None or attempts >= self.tries:
            return None
        reply = response[0]
        if reply.status_code in (_TOO_MANY, _AWAY):
            time.sleep(min(_LONGEST_PAUSE, asked_pause(reply.headers.get("Retry-After", ""))))
        if reply.status_code == _TOO_MANY or _fault_of(reply, operation):
            return 0.5 * 2.0 ** (attempts - 1) * (0.5 + random() / 2)  # noqa: S311 -- spreads load, guards nothing
        return None


def _readable(*, operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """Keep from botocore's parser what it breaks on; ``_whole`` refuses it once it has been tried again."""
    if operation_model.has_streaming_output and response_dict["status_code"] < _GOOD:
        return
    body = response_dict["body"]
    if _speaks_json(operation_model) and body and _no_object(body):
        response_dict["body"] = json.dumps({"message": body[:300].decode("utf-8", "replace")}).encode()


def _whole(*, http_response: Any, model: Any, **_: Any) -> None:
    """Refuse a good reply that is none."""
    what = _fault_of(http_response, model)
    if what:
        raise _ReplyError(operation=model.name, what=what)


def _fault_of(reply: Any, operation: Any) -> str:
    """What is wrong with a good reply; empty when nothing is. Streams are looked at by whoever reads them."""
    if reply.status_code >= _GOOD or operation.has_streaming_output:
        return ""
    headers: Mapping[str, str] = reply.headers
    length = str(headers.get("Content-Length", ""))
    if length.isdecimal() and not headers.get("Content-Encoding") and len(reply.content) < int(length):
        return f"cut off: {len(reply.content)} of {length} bytes"
    return _no_object(reply.content) if _speaks_json(operation) and reply.content else ""


def _speaks_json(operation: Any) -> bool:
    return "json" in operation.service_model.metadata.get("protocol", "")


def _no_object(body: bytes) -> str:
    """Why a body is no JSON object; empty when it is one."""
    try:
        return "" if isinstance(json.loads(body), dict) else f"no JSON object: {body[:60]!r}"
    except ValueError:
        return f"no JSON: {body[:60]!r}"


def reason_of(error: Exception) -> str:
    """What AWS said, on one line."""
    return " ".join(str(error).split())[:300]
