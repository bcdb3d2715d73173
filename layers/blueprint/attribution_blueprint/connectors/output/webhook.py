"""``webhook``: each verdict as a CloudEvent (structured JSON), signed as Standard Webhooks say."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
import time
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.web import WebClient, WebSettings
from attribution_blueprint.errors import AuthError, CollectError, OutputError, WebError
from attribution_blueprint.setting_types import OptionalPath, Seconds, Secret
from attribution_service.times import rfc3339

if TYPE_CHECKING:
    from attribution_service.result import EnrichedVerdict

__all__ = ["WebhookSettings", "WebhookSink", "signature"]

EVENT_TYPE = "attribution.verdict.v2"


class WebhookSettings(WebSettings):
    """Verdicts as signed CloudEvents (``webhook-id``, ``webhook-timestamp``, ``webhook-signature``), with retries."""

    secret: Secret = Field(default=Secret(""), description="Key of the HMAC-SHA256 signature; empty: not signed.")
    secret_file: OptionalPath = Field(default="", description="File that holds that key.")
    allow_http: bool = Field(default=False, description="Also post to http:// addresses.")
    allow_private: bool = Field(default=False, description="Also post to loopback, private and link-local addresses.")
    timeout_seconds: Seconds = Field(default=60.0, description="How long one verdict may take, retries included.")

    @model_validator(mode="after")
    def _https(self) -> WebhookSettings:
        if not self.allow_http and not self.url.startswith("https://"):
            msg = "url: an https:// address, or allow_http = true"
            raise ValueError(msg)
        return self


class WebhookSink:
    """Posts each verdict; the receiver can tell a repeat by ``webhook-id``, which is the same for all tries."""

    Settings: ClassVar[type[WebhookSettings]] = WebhookSettings

    def __init__(self, name: str, settings: WebhookSettings) -> None:
        self.name = name
        self.settings = settings
        self._client = WebClient(settings, vet=None if settings.allow_private else public_address)

    def write(self, verdict: EnrichedVerdict) -> None:
        """Post one verdict; returns once the receiver has taken it."""
        event_id = f"{verdict.run_id}.{hashlib.sha256(verdict.attributor_id.encode()).hexdigest()[:16]}"
        body = _event(verdict, event_id)
        stamp = int(time.time())
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "webhook-id": event_id,
            "webhook-timestamp": str(stamp),
        }
        try:
            key = self._key()
            if key:
                headers["webhook-signature"] = signature(key, event_id, stamp, body)
            self._client.send("POST", "", Budget.of(self.settings.timeout_seconds), body, headers)
        except (WebError, AuthError, CollectError, OSError) as error:
            msg = f"output {self.name}: {error}"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Nothing is kept back."""

    def _key(self) -> bytes:
        if self.settings.secret_file:
            with open(self.settings.secret_file, "rb") as file:  # noqa: PTH123 -- one read
                return file.read().strip()
        return self.settings.secret.get_secret_value().encode()


def signature(key: bytes, event_id: str, stamp: int, body: bytes) -> str:
    """``v1,`` and the base64 of HMAC-SHA256 over ``id.timestamp.body``. A key ``whsec_…`` is base64."""
    secret = base64.b64decode(key.removeprefix(b"whsec_")) if key.startswith(b"whsec_") else key
    digest = hmac.digest(secret, f"{event_id}.{stamp}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def public_address(host: str, port: int) -> str:
    """An address of the host, if all of them are public; ``WebError``. Connecting to it leaves no time to rebind."""
    try:
        found = {str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        msg = f"{host}: cannot be resolved ({error})"
        raise WebError(msg, 0) from error
    private = sorted(address for address in found if not _is_public(address))
    if private:
        msg = (
            f"{host}: resolves to {private[0]}, which is not public; expected a public address, or allow_private = true"
        )
        raise WebError(msg, 0)
    return min(found)


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_global and not parsed.is_multicast


def _event(verdict: EnrichedVerdict, event_id: str) -> bytes:
    job = verdict.job
    envelope = {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/attribution/{job['cluster']}",
        "type": EVENT_TYPE,
        "subject": f"{job['job_id']}/{job['attempt']}",
        "time": verdict.attributed_at or rfc3339(int(time.time())),
        "datacontenttype": "application/json",
        "data": verdict.model_dump(mode="json", by_alias=True),
    }
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
