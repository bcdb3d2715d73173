"""``attribution serve``: the v2 API and the dashboard on this machine, with the deployed handlers."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from attribution_blueprint.demo import seed_demo
from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.local import load_engine
from attribution_blueprint.local_server import is_loopback
from attribution_blueprint.local_service import Serving, serving
from attribution_blueprint.places import data_folder
from attribution_blueprint.sample_cases import sample_folder
from attribution_blueprint.variables import unknown_variables
from attribution_cli.stores import telling_where
from attribution_cli.terminal import complain, log_level_option, one_rules_option
from attribution_lib.errors import AttributionError
from attribution_service.errors import ServiceError
from attribution_service.http.function import LOGGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.local_server import LocalServer

__all__ = ["serve"]

_BAD_INPUT = 2
_DRAIN_SECONDS = 20
_SEEDING = "attributing the samples, half a minute or so; then it listens"
_TOLD = 4
"""Lines of progress, about."""


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the store [default: the user's data folder].")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65_535), help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address than loopback needs a token.")
@click.option("--name", "names", multiple=True, help="A further name under which clients address the server.")
@click.option(
    "--token", envvar="ATTRIBUTION_TOKEN", default="", help="Ask for it as a bearer token.  [ATTRIBUTION_TOKEN]"
)
@click.option("--lambda-api", is_flag=True, help="Also serve Lambda's Invoke API (loopback only, no authentication).")
@one_rules_option("Another rules folder.")
@click.option(
    "--verdicts",
    metavar="PLACE",
    default="",
    help="What the dashboard shows: sqlite:PATH or dynamodb:TABLE[@BUCKET] [default: what this service holds].",
)
@click.option(
    "--demo", is_flag=True, help="Attribute the samples first and show them; what is written goes at the end."
)
@log_level_option("INFO writes one JSON line a request.")
def serve(log_level: str, *, demo: bool, **options: object) -> None:
    """Serve the v2 API and the dashboard on this machine.

    Routes are those of template.yaml, answered by the deployed handlers over a folder; the dashboard is at /. An
    acknowledged observation survives a crash. Exit status 2 when it cannot start.
    """
    if demo and (options["data"] or options["verdicts"]):
        _refuse("--demo: takes neither --data nor --verdicts; it shows the samples from a folder of its own")
    with TemporaryDirectory(prefix="attribution-demo-") if demo else nullcontext("") as folder:
        data = Path(folder) if folder else options["data"] or data_folder()
        how = Serving(**{**options, "data": data})  # type: ignore[arg-type]  # click has checked the types by name
        _serve(_seeded(how) if demo else how, log_level)


def _seeded(how: Serving) -> Serving:
    """The samples' verdicts in a database of the demo's folder."""
    path = how.data / "demo.db"
    try:
        with click.progressbar(length=1, label=_SEEDING, file=sys.stderr) as bar:
            seed_demo(
                path,
                sample_folder(),
                load_engine(() if how.rules_dir is None else (how.rules_dir,)),
                lambda done, of: _move(bar, done, of),
            )
    except (OSError, BlueprintError, AttributionError) as error:
        _refuse(str(error))
    return replace(how, verdicts=f"sqlite:{path}")


def _move(bar: Any, done: int, of: int) -> None:
    bar.length = of
    bar.update(done - bar.pos)
    if not sys.stderr.isatty() and done % (of // _TOLD or 1) == 0:  # where no bar is drawn
        click.echo(f"{done} of {of}", err=True)


def _serve(how: Serving, log_level: str) -> None:
    if not is_loopback(how.host) and (not how.token or how.lambda_api):
        _refuse(f"--host {how.host}: another address than loopback needs --token, and takes no --lambda-api")
    for warning in unknown_variables(os.environ):
        complain(f"warning: {warning}")
    try:
        with telling_where(how.data), serving(how) as server:
            logging.getLogger(LOGGER).setLevel(log_level.upper())
            with _stopped_by_signals(server):  # before anybody is told, and may send one
                click.echo(f"serving http://{how.host}:{server.port}/v2 from {how.data}", err=True)
                click.echo(f"dashboard http://{how.host}:{server.port}/ {_shows(how)}", err=True)
                server.serve_forever(poll_interval=0.2)
            server.drain(_DRAIN_SECONDS)
    except OSError as error:
        _refuse(_explained(error, how))
    except (ValueError, BlueprintError, AttributionError, ServiceError) as error:
        _refuse(str(error))


def _shows(how: Serving) -> str:
    """What the dashboard shows: a mistyped --verdicts or another folder is seen before its empty pages are."""
    return f"shows {how.verdicts}" if how.verdicts else "shows what this service holds"


def _explained(error: OSError, how: Serving) -> str:
    """What to do about an address that cannot be had."""
    if error.filename is not None:
        return str(error)
    return f"{how.host}:{how.port}: {error.strerror or error}; give another --port (0 takes any free one) or --host"


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
    complain(message)
    sys.exit(_BAD_INPUT)
