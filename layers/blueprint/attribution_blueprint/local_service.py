"""The service over the local back end, and the server in front of it."""

from __future__ import annotations

import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

from attribution_blueprint.cache import cache_folder
from attribution_blueprint.deployment import read_deployment, template_path
from attribution_blueprint.gateway import Gateway
from attribution_blueprint.local import require_rules
from attribution_blueprint.local_server import Guard, LocalServer, is_loopback
from attribution_blueprint.sample_cases import sample_cases, sample_folder
from attribution_blueprint.verdict_source import parse_place, reading
from attribution_service.attribute import attribute_later
from attribution_service.engine_source import EngineSource
from attribution_service.http.access import read_access
from attribution_service.http.function import LOGGER
from attribution_service.http.host import Host
from attribution_service.retention import sweep
from attribution_service.service import Service
from attribution_service.sessions import open_sessions_of
from attribution_service.settings import read_settings
from attribution_service.stores.local import open_local
from dashboard.pages.library import Library

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from attribution_service.settings import Settings
    from attribution_service.stores.local import LocalBackEnd

__all__ = ["Serving", "local_service", "serving"]

_log = logging.getLogger(LOGGER)
_HOUSEKEEPING_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Serving:
    """How to serve."""

    data: Path
    port: int = 8000
    """0: any free one."""
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    """Further names under which clients address the server."""
    token: str = field(default="", repr=False)
    lambda_api: bool = False
    rules_dir: Path | None = None
    verdicts: str = ""
    """Where the dashboard reads: ``sqlite:PATH``, ``dynamodb:TABLE``; empty: what this service holds itself."""


@contextmanager
def serving(how: Serving, environment: Mapping[str, str] = os.environ) -> Iterator[LocalServer]:
    """A server that listens already; the caller runs ``serve_forever``. Settings are the deployment's variables.

    Raises what says why it cannot serve: ``OSError`` for the address or the folder, ``AttributionError`` and
    ``ServiceError`` for the rules and the settings.
    """
    deployment = read_deployment(template_path())
    settings, access = read_settings(environment), read_access(environment)
    local = ("localhost", "127.0.0.1", "::1") if is_loopback(how.host) else ()
    place = parse_place(how.verdicts)
    guard = Guard(frozenset({how.host, *how.names, *local}), how.token, pages=True)
    with (
        LocalServer((how.host, how.port), guard, lambda_api=how.lambda_api) as server,
        ThreadPoolExecutor(1, thread_name_prefix="attribute-later") as later,
    ):
        name = how.names[0] if how.names else how.host
        back_end = open_local(how.data, base_url=f"http://{_bracketed(name)}:{server.port}")
        service = local_service(back_end, settings, how.rules_dir, later)
        try:
            require_rules(service.engine(), how.rules_dir)  # told now, not to the first client
            with reading(place, service) as reader, _kept_house(service, back_end):
                sessions = partial(open_sessions_of, service)
                samples = partial(sample_cases, sample_folder())
                library = Library(reader, service.engine, service.clock, samples, sessions)
                host = Host(service, access, write_metrics=None)
                server.gateway = Gateway(deployment, deployment.load(), host, library)
                server.accept_upload = lambda token, body: back_end.uploads.accept(token, body, back_end.store.objects)
                yield server
        finally:
            server.server_close()
            later.shutdown(cancel_futures=True)
            back_end.close()


def local_service(
    back_end: LocalBackEnd,
    settings: Settings,
    rules_dir: Path | None = None,
    later: ThreadPoolExecutor | None = None,
) -> Service:
    """The service over a local back end; ``later`` runs attributions that a request put off."""
    objects, cache = back_end.store.objects, cache_folder()
    engine = EngineSource(
        objects,
        settings.rules_release,
        folder=cache / "releases",
        cache=cache,
        clock=time.time,
        bundled=rules_dir,
    )
    service = Service(
        store=back_end.store,
        engine=engine,
        clock=time.time,
        settings=settings,
        invoke_later=None if later is None else lambda attributor_id: _start(later, service, attributor_id),
    )
    return service


@contextmanager
def _kept_house(service: Service, back_end: LocalBackEnd) -> Iterator[None]:
    stopping = Event()
    housekeeping = Thread(target=_keep_house, args=(service, back_end, stopping))
    housekeeping.start()
    try:
        yield
    finally:
        stopping.set()
        housekeeping.join()


def _keep_house(service: Service, back_end: LocalBackEnd, stopping: Event) -> None:
    """What lifecycle rules do on AWS: once in a while remove what is past its time."""
    while not stopping.wait(_HOUSEKEEPING_SECONDS):
        try:
            back_end.expire(service.now())
            sweep(service)
        # Another process may be at it too, or the disk is full; the next round tries again.
        except Exception:  # noqa: BLE001 -- see above
            _log.exception("housekeeping failed")


def _start(later: ThreadPoolExecutor, service: Service, attributor_id: str) -> None:
    later.submit(_attribute, service, attributor_id)


def _attribute(service: Service, attributor_id: str) -> None:
    try:
        attribute_later(service, attributor_id)
    # The lease runs out and another request takes over; nobody else would hear of the error.
    except Exception:  # noqa: BLE001 -- see above
        _log.exception("an attribution that was put off failed: %s", attributor_id)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
