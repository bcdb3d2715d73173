"""Runs as processes of their own: services that restart under them, runs beside each other, Ctrl-C."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.client import Client, Transport
from run_kit import configuration_file, local_service_of, open_sessions, runs_in, write_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def attribution(*arguments: str, **how: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "attribution_cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)  # noqa: S603 -- our own interpreter


def rest_of(run: subprocess.Popen[str]) -> str:
    """What it printed after the line that was read; ``communicate`` would lose what came together with that line."""
    assert run.stdout is not None
    with run.stdout:
        output = run.stdout.read()
    run.wait(timeout=60)
    return output


@contextmanager
def serving(data: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A real ``attribution serve``; killed at the end if a test has not ended it."""
    server = attribution("serve", "--data", str(data), "--port", str(port))
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()
    try:
        yield server
    finally:
        server.kill()
        server.communicate(timeout=30)


def fates(output: str) -> dict[str, str]:
    """What each context's line says became of it."""
    lines = (line.split(": ") for line in output.splitlines())
    return {parts[0]: parts[1] for parts in lines if parts[0].startswith("c:1") and len(parts) > 1}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_a_service_that_restarts_in_the_middle_costs_no_context(how: signal.Signals, tmp_path: Path) -> None:
    """Every context is told of; one whose session the lost service left open is a conflict, and a later run's."""
    port, data = free_port(), tmp_path / "srv"
    url = f"http://127.0.0.1:{port}"
    file = configuration_file(tmp_path, write_jobs(tmp_path, 60), service_url=url, tries="9", request_seconds="20")
    with serving(data, port) as server:
        run = attribution("run", "--configs", str(file))
        assert run.stdout is not None
        begun = run.stdout.readline()
        server.send_signal(how)
        server.wait(timeout=30)
    with serving(data, port):
        output = begun + rest_of(run)
    assert run.returncode == 0, output
    told = fates(output)
    assert len(told) == 60, output
    assert set(told.values()) <= {"attributed", "failed", "conflicted"}, output
    written = set(runs_in(tmp_path / "v.db"))
    assert len(written) == sum(fate == "attributed" for fate in told.values()) >= 50, output
    assert f"Attribution complete: {len(written)}/60 execution contexts succeeded." in output


def test_two_orchestrators_on_one_real_service_share_the_jobs_between_them(tmp_path: Path) -> None:
    """Whoever comes second meets a conflict, leaves the session alone, and does the job when it is free."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    again = "[run]\nretry_conflicts = 20\nretry_conflicts_seconds = 0.2\n"
    file = configuration_file(tmp_path, write_jobs(tmp_path, 20), again, service_url=url)
    with serving(tmp_path / "srv", port):
        both = [attribution("run", "--configs", str(file)) for _ in range(2)]
        outputs = [one.communicate(timeout=120)[0] for one in both]
        left = Client(Transport(url)).sessions().sessions
    assert [one.returncode for one in both] == [0, 0], outputs
    assert all("Attribution complete: 20/20 execution contexts succeeded." in output for output in outputs), outputs
    assert len(set(runs_in(tmp_path / "v.db"))) == 20
    assert left == []


def test_a_service_that_never_comes_back_is_a_failure_of_every_context_that_was_left(tmp_path: Path) -> None:
    port = free_port()
    settings = {"service_url": f"http://127.0.0.1:{port}", "tries": "2", "request_seconds": "5"}
    file = configuration_file(tmp_path, write_jobs(tmp_path, 12), **settings)
    with serving(tmp_path / "srv", port) as server:
        run = attribution("run", "--configs", str(file))
        assert run.stdout is not None
        begun = run.stdout.readline()
        server.kill()
        output = begun + rest_of(run)
    told = fates(output)
    assert len(told) == 12, output
    assert "failed" in told.values()
    assert run.returncode == (0 if "attributed" in told.values() else 1)
    assert len(runs_in(tmp_path / "v.db")) == sum(fate == "attributed" for fate in told.values())


def test_two_orchestrators_on_the_same_jobs_lose_none_and_leave_none(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 30))
    both = [attribution("run", "--configs", str(file)) for _ in range(2)]
    outputs = [one.communicate(timeout=120)[0] for one in both]
    assert all("Attribution complete: " in output for output in outputs), outputs
    assert len(set(runs_in(tmp_path / "v.db"))) == 30
    with local_service_of(tmp_path) as service:
        assert open_sessions(service) == []


def test_ctrl_c_ends_the_run_in_order(tmp_path: Path) -> None:
    file = configuration_file(tmp_path, write_jobs(tmp_path, 200))
    run = attribution("run", "--configs", str(file))
    assert run.stdout is not None
    run.stdout.readline()
    run.send_signal(signal.SIGINT)
    output = rest_of(run)
    assert run.returncode == 130, output
    assert "Attribution complete: " in output
    with local_service_of(tmp_path) as service:
        assert open_sessions(service) == []
