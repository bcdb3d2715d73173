"""What a function runs in: its service, who may call, where counts go. In Lambda it is made from the environment."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attribution_service.engine_source import EngineSource
from attribution_service.http.access import Access, read_access
from attribution_service.service import Service
from attribution_service.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Host", "deployed_host", "host_of"]

RULES_CACHE = "ATTRIBUTION_RULES_CACHE"
"""Folder of checked rules and compiled databases; in the layer they were made by its build."""


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")


@dataclass(frozen=True, slots=True)
class Host:
    """The surroundings of a function; the local server and tests hand one over as ``context.attribution_host``."""

    service: Service
    access: Access = field(default_factory=Access)
    write_metrics: Callable[[str], None] | None = _print_line
    """Takes each line of counts; None where nobody reads them."""


def host_of(context: Any) -> Host:
    """The host that the invocation carries, else the deployment's, made on the first call of the process."""
    carried: Host | None = getattr(context, "attribution_host", None)
    return carried if carried is not None else _deployed()


@cache
def _deployed() -> Host:
    return deployed_host(os.environ)


def deployed_host(environment: Mapping[str, str]) -> Host:
    """The host of a deployment; ``InvalidRequestError`` names each variable that is missing or wrong."""
    # boto3 is slow to import and not installed where only the local back end is used.
    from attribution_service.stores.aws_deployment import deployed_store, invoker  # noqa: PLC0415 -- see above

    settings, store = read_settings(environment), deployed_store(environment)
    databases = environment.get(RULES_CACHE, "")
    engine = EngineSource(
        store.objects,
        settings.rules_release,
        folder=Path(tempfile.gettempdir(), "attribution-rules"),
        cache=Path(databases) if databases else None,
        clock=time.time,
    )
    service = Service(store, engine, time.time, settings, invoker(environment))
    return Host(service, read_access(environment))
