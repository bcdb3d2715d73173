"""Clients of AWS for connectors: region, profile, endpoint and retries in one place."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import Field

from attribution_blueprint.setting_types import ComponentSettings, Seconds

__all__ = ["AWS_ERRORS", "AwsClients", "AwsSettings", "reason_of"]

AWS_ERRORS = (BotoCoreError, ClientError)
"""What a call may raise."""


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
                    retries={"mode": "standard", "max_attempts": chosen.tries},
                    connect_timeout=min(10.0, chosen.request_seconds),
                    read_timeout=chosen.request_seconds,
                )
                self._known[service] = session.client(service, config=config, endpoint_url=chosen.endpoint_url or None)
            return self._known[service]


def reason_of(error: Exception) -> str:
    """What AWS said, on one line."""
    return " ".join(str(error).split())[:300]
