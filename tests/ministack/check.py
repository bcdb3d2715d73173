"""``sam build`` and ``sam deploy`` of the unchanged template to an emulator; a session's life over HTTP, and a fleet.

``python tests/ministack/check.py SAM MINISTACK``: the environments that hold the two (``make ministack``). The emulator
runs functions in its own interpreter, so the runtime, which is a parameter, is that interpreter's.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import drive_fleet
from lifecycle import drive
from pages import drive_pages, issuing

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
STACK = "attribution"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Tools:
    """Where the two environments and the results lie."""

    sam: Path
    ministack: Path
    folder: Path

    @property
    def runtime(self) -> str:
        """``3.11``: of the interpreter that the emulator runs functions in."""
        code = "import sys; print(f'{sys.version_info[0]}.{sys.version_info[1]}')"
        return subprocess.check_output([self.ministack / "bin" / "python", "-c", code], text=True).strip()  # noqa: S603 -- our own tools


def main() -> int:
    """0 when the deployed API did everything that it should."""
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute(), Path(folder))
        started = time.monotonic()
        build(tools)
        built = time.monotonic()
        cold_start(tools)
        with emulator(tools) as endpoint, issuing() as issuer:
            deploy(tools, endpoint, issuer.url)
            deployed = time.monotonic()
            drive(endpoint, STACK, REGION)
            drive_pages(endpoint, STACK, REGION, issuer)
            driven = time.monotonic()
            fleet = drive_fleet(endpoint, STACK, REGION, tools.folder)
    print(f"build {built - started:.0f} s, deploy {deployed - built:.0f} s, lifecycle {driven - deployed:.0f} s")  # noqa: T201 -- the result
    print(f"fleet of {fleet}")  # noqa: T201 -- likewise
    return 0


def build(tools: Tools) -> None:
    """Into a folder of its own: the layer for the emulator's interpreter."""
    sam(
        tools,
        {"LAYER_PYTHON": tools.runtime},
        "build",
        "--build-dir",
        str(tools.folder / "build"),
        "--parameter-overrides",
        f"Runtime=python{tools.runtime}",
    )


def cold_start(tools: Tools) -> None:
    """The engine starts from the layer alone, with the databases and the checked rules that its build kept."""
    layer = tools.folder / "build" / "EngineLayer"
    cache = layer / "rules-cache"
    built = kept(cache)
    program = (
        "import sys, time; from pathlib import Path; from attribution_lib.observation import TEXT_SOURCES; "
        "from attribution_lib.rules.loader import load_engine; engine = load_engine(cache_dir=Path(sys.argv[1])); "
        "[engine.plans.of(source) for source in TEXT_SOURCES]; assert not engine.plans.diagnostics(); "
        "print(f'cold start of the engine: {time.process_time():.2f} s of CPU')"
    )
    python = tools.ministack / "bin" / "python"
    subprocess.run(  # noqa: S603 -- our own tools
        [python, "-c", program, str(cache)], env={"PYTHONPATH": str(layer / "python")}, cwd=tools.folder, check=True
    )
    if {Path(name).suffix for name in built} != {".hsdb", ".rules"} or kept(cache) != built:
        msg = "the engine made databases or rules again: those of the layer are not the ones it looks for"
        raise SystemExit(msg)


def kept(cache: Path) -> dict[str, int]:
    """{file: when it was written} of what the engine keeps there."""
    return {file.name: file.stat().st_mtime_ns for file in cache.iterdir()}


def deploy(tools: Tools, endpoint: str, issuer: str) -> None:
    """As to AWS, with another endpoint and its credentials; with the dashboard."""
    sam(
        tools,
        {"AWS_ENDPOINT_URL": endpoint, **credentials()},
        "deploy",
        "--template-file",
        str(tools.folder / "build" / "template.yaml"),
        "--stack-name",
        STACK,
        "--resolve-s3",
        "--capabilities",
        "CAPABILITY_IAM",
        "--no-confirm-changeset",
        "--region",
        REGION,
        "--parameter-overrides",
        f"Runtime=python{tools.runtime}",
        f"DashboardIssuer={issuer}",
    )


def sam(tools: Tools, environment: dict[str, str], *arguments: str) -> None:
    """Run SAM quietly; what it printed is shown when it fails."""
    done = subprocess.run(  # noqa: S603 -- our own tools
        [tools.sam / "bin" / "sam", *arguments],
        cwd=ROOT,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=540,
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise SystemExit(done.returncode)


def credentials() -> dict[str, str]:
    """Whom the emulator knows."""
    return {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}


@contextmanager
def emulator(tools: Tools) -> Iterator[str]:
    """The endpoint of an emulator on the loopback, stopped afterwards; its log is shown when something went wrong."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    here = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "TMPDIR": str(tools.folder), "PYTHONPATH": ""}
    log = tools.folder / "emulator.log"
    with log.open("w") as output:
        process = subprocess.Popen(  # noqa: S603 -- our own tools
            [tools.ministack / "bin" / "python", Path(__file__).with_name("emulator.py")],
            env={**os.environ, **here, **credentials()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        endpoint = f"http://127.0.0.1:{port}"
        try:
            wait_for(endpoint)
            yield endpoint
        except BaseException:
            sys.stderr.write(log.read_text()[-20_000:])
            raise
        finally:
            process.terminate()
            process.wait(20)


def wait_for(endpoint: str) -> None:
    """Until it answers at all."""
    for _ in range(100):
        try:
            urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2).close()  # noqa: S310 -- http on the loopback
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    msg = f"nothing answers at {endpoint}"
    raise SystemExit(msg)


if __name__ == "__main__":
    sys.exit(main())
