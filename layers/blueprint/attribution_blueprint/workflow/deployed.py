"""The host of deployed functions: the service's own, and the site's configuration from where the deployment says."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.errors import AuthError, ConfigError
from attribution_blueprint.secrets import secret_source
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.workflow.host import WorkflowHost
from attribution_service.ports import ObjectMissingError
from attribution_service.workflow.keys import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attribution_blueprint.settings import Configuration
    from attribution_service.http.host import Host
    from attribution_service.ports import ObjectStore

__all__ = ["CONFIG", "ConfigurationSource", "workflow_host"]

CONFIG = "ATTRIBUTION_CONFIG"
"""Where the site's TOML lies: ``s3://bucket/key`` of the deployment's own bucket, ``ssm:NAME``, or a file."""
_BUCKET = "ATTRIBUTION_BUCKET"
_SSM, _S3 = "ssm:", "s3://"
_ACCEPTED = "s3://bucket/key, ssm:NAME, or the path of a TOML file on this machine"
_FRESH_SECONDS = 60.0


@dataclass(slots=True)
class ConfigurationSource:
    """The configuration of an address, read again once a minute: a change needs no deployment."""

    address: str
    objects: ObjectStore
    clock: Callable[[], float] = time.monotonic
    _known: Configuration | None = field(default=None, repr=False)
    _read_at: float = 0.0

    def __call__(self) -> Configuration:
        """The configuration in force; ``ConfigError`` names what is wrong with it."""
        if self._known is None or self.clock() - self._read_at > _FRESH_SECONDS:
            self._known, self._read_at = self._read(), self.clock()
        return self._known

    def _read(self) -> Configuration:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "site.toml")
            file.write_bytes(self._text())
            return read_configuration(file, {})

    def _text(self) -> bytes:
        if not self.address:
            raise ConfigError([f"{CONFIG}: is not set; accepted: {_ACCEPTED}"])
        if self.address.startswith(_SSM):
            return self._parameter()
        if not self.address.startswith(_S3):
            return self._file()
        try:
            return self.objects.get(key_of(self.address))
        except ObjectMissingError:
            raise ConfigError([f"{CONFIG} {self.address}: there is no such object; accepted: a TOML file"]) from None

    def _file(self) -> bytes:
        try:
            return Path(self.address).expanduser().read_bytes()
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError([f"{CONFIG} {self.address}: {reason}; accepted: {_ACCEPTED}"]) from error

    def _parameter(self) -> bytes:
        try:
            return secret_source()(f"aws:{self.address}").encode()
        except AuthError as error:
            raise ConfigError([f"{CONFIG} {self.address}: {error}"]) from error


def workflow_host(host: Host, environment: Mapping[str, str] = os.environ) -> WorkflowHost:
    """What the tasks of one invocation run in."""
    address, objects = environment.get(CONFIG, ""), host.service.store.objects
    known = _SOURCES.get(address)
    if known is None or known.objects is not objects:
        known = _SOURCES[address] = ConfigurationSource(address, objects)
    return WorkflowHost(host.service, known, bucket=environment.get(_BUCKET, "local"))


_SOURCES: dict[str, ConfigurationSource] = {}
"""Of this process: a function that stays warm asks once a minute, not once an invocation."""
