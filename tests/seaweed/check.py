"""The object half of the AWS store against a real S3 server: contract, presigned uploads, torture.

``python tests/seaweed/check.py SEAWEED``: the environment that holds the server (``make seaweed``). Items stay in
moto.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
TESTS = ("tests/seaweed", "tests/service/test_store_contract.py")
_START_SECONDS = 30
_PORTS = ("master.port", "volume.port", "filer.port", "s3.port", "admin.port")
_GRPC = 10_000
"""The server's own ports plus this are its other ports."""


def main() -> int:
    """The exit code of the tests."""
    with tempfile.TemporaryDirectory() as folder, server(Path(sys.argv[1]).absolute(), Path(folder)) as endpoint:
        command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *TESTS]
        environment = {**os.environ, **KEYS, "ATTRIBUTION_TEST_S3": endpoint}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603 -- our own tests


@contextmanager
def server(tools: Path, folder: Path) -> Iterator[str]:
    """The endpoint of a server bound to loopback, on ports that nobody uses."""
    ports = free_ports()
    arguments = [f"-{name}={port}" for name, port in ports.items()]
    command = [str(tools / "bin" / "weed"), "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 -- the server of our own tools
            [*command, "-webdav=false", "-admin.ui=false", *arguments],
            env={**os.environ, **KEYS},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            endpoint = f"http://127.0.0.1:{ports['s3.port']}"
            wait_for(endpoint, process)
            yield endpoint
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server; one that is still busy tidying up after the tests is not waited for."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def free_ports() -> dict[str, int]:
    """A port for each part of the server, such that its companion is free too."""
    found: dict[str, int] = {}
    for candidate in range(20_000, 50_000, 7):
        if len(found) == len(_PORTS):
            break
        if all(is_free(port) for port in (candidate, candidate + _GRPC)):
            found[_PORTS[len(found)]] = candidate
    return found


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    """Until it answers anything at all."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(endpoint, timeout=2).close()  # noqa: S310 -- http on the loopback
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            time.sleep(0.2)
            continue
        return
    msg = f"{endpoint} does not answer"
    raise RuntimeError(msg)


if __name__ == "__main__":
    sys.exit(main())
