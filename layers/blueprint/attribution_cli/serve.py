"""``attribution serve``: the v2 API on this machine, with the deployed handlers and a folder as the store."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.local_server import is_loopback
from attribution_blueprint.local_service import Serving, serving
from attribution_blueprint.places import data_folder
from attribution_lib.errors import AttributionError
from attribution_service.errors import ServiceError
from attribution_service.http.function import LOGGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.local_server import LocalServer

__all__ = ["serve"]

_BAD_INPUT = 2
_DRAIN_SECONDS = 20


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the store [default: the user's data folder].")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65_535), help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address than loopback needs a token.")
@click.option("--name", "names", multiple=True, help="A further name under which clients address the server.")
@click.option(
    "--token", envvar="ATTRIBUTION_TOKEN", default="", help="Ask for it as a bearer token.  [ATTRIBUTION_TOKEN]"
)
@click.option("--lambda-api", is_flag=True, help="Also serve Lambda's Invoke API (loopback only, no authentication).")
@click.option("--rules", "rules_dir", type=click.Path(path_type=Path), help="Another rules folder.")
@click.option("--log-level", default="WARNING", show_default=True, help="INFO writes one JSON line a request.")
def serve(log_level: str, **options: object) -> None:
    """Serve the v2 API on this machine.

    Routes are those of template.yaml, answered by the deployed handlers over a folder. An acknowledged observation
    survives a crash. Exit status 2 when it cannot start.
    """
    data = options.pop("data") or data_folder()
    how = Serving(data=data, **options)  # type: ignore[arg-type]  # click has checked the types by the options' names
    if not is_loopback(how.host) and (not how.token or how.lambda_api):
        _refuse(f"--host {how.host}: another address than loopback needs --token, and takes no --lambda-api")
    try:
        with serving(how) as server:
            logging.getLogger(LOGGER).setLevel(log_level.upper())
            click.echo(f"serving http://{how.host}:{server.port}/v2 from {how.data}", err=True)
            with _stopped_by_signals(server):
                server.serve_forever(poll_interval=0.2)
            server.drain(_DRAIN_SECONDS)
    except (OSError, ValueError, BlueprintError, AttributionError, ServiceError) as error:
        _refuse(str(error))


@contextmanager
def _stopped_by_signals(server: LocalServer) -> Iterator[None]:
    """SIGTERM and Ctrl-C end the loop; requests under way are answered."""

    def stop(*_: object) -> None:
        # shutdown() waits for the loop, which runs in this very thread.
        threading.Thread(target=server.shutdown).start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse(message: str) -> None:
    click.echo(message, err=True)
    sys.exit(_BAD_INPUT)
